//! Divergence between the words of two texts.

use std::collections::{BTreeMap, BTreeSet};

/// Frequency of each term.
pub type Terms = BTreeMap<String, u64>;

/// Adds the terms of `text` to `counts`: runs of letters and digits, in lower case. A word that an apostrophe or a
/// hyphen divides is two, so texts count alike whether their punctuation is separated or not.
pub fn count_terms(text: &str, counts: &mut Terms) {
    let terms = text.split(|c: char| !c.is_alphanumeric());
    for term in terms.filter(|term| !term.is_empty()) {
        *counts.entry(term.to_lowercase()).or_insert(0) += 1;
    }
}

/// The Jensen-Shannon divergence between two distributions over the same terms, in nats: from 0 to ln 2.
///
/// With m = (p + q) / 2 it is half of KL(p ‖ m) plus half of KL(q ‖ m) (Lin 1991). Both slices are counts, or anything
/// proportional to probabilities; nothing is added to terms that do not occur. `None` where one side is empty.
///
/// # Panics
/// If the slices differ in length.
pub fn jensen_shannon(p: &[f64], q: &[f64]) -> Option<f64> {
    assert_eq!(p.len(), q.len(), "the distributions differ in length");
    let (p_sum, q_sum) = (p.iter().sum::<f64>(), q.iter().sum::<f64>());
    if p_sum <= 0.0 || q_sum <= 0.0 {
        return None;
    }
    let part = |p: f64, m: f64| if p > 0.0 { p * (p / m).ln() } else { 0.0 };
    let terms = p.iter().zip(q).map(|(p, q)| {
        let (p, q) = (p / p_sum, q / q_sum);
        let m = (p + q) / 2.0;
        part(p, m) + part(q, m)
    });
    Some(terms.sum::<f64>() / 2.0)
}

/// [`jensen_shannon`] of two texts over the `n` terms that are most frequent in both together, as in Ruder and Plank
/// (2017): the others are left out on both sides. Of equally frequent terms the first in order is taken.
pub fn term_divergence(a: &Terms, b: &Terms, n: usize) -> Option<f64> {
    let terms: BTreeSet<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    let of = |side: &Terms, term: &str| side.get(term).copied().unwrap_or(0);
    let mut terms: Vec<&str> = terms.into_iter().collect();
    // A stable sort, which keeps the alphabetical order of ties.
    terms.sort_by_key(|term| std::cmp::Reverse(of(a, term) + of(b, term)));
    terms.truncate(n);
    let counts =
        |side: &Terms| -> Vec<f64> { terms.iter().map(|term| of(side, term) as f64).collect() };
    jensen_shannon(&counts(a), &counts(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(counts: &[(&str, u64)]) -> Terms {
        counts
            .iter()
            .map(|(term, n)| (term.to_string(), *n))
            .collect()
    }

    #[test]
    fn equal_shares_do_not_diverge_and_disjoint_ones_diverge_by_ln_2() {
        assert_eq!(jensen_shannon(&[1.0, 3.0], &[2.0, 6.0]), Some(0.0));
        let apart = jensen_shannon(&[1.0, 0.0], &[0.0, 5.0]).expect("both have terms");
        assert!((apart - 2f64.ln()).abs() < 1e-15);
        assert_eq!(jensen_shannon(&[0.0], &[1.0]), None);
    }

    #[test]
    fn a_half_and_a_quarter_diverge_as_on_paper() {
        // p = (1/2, 1/2), q = (1/4, 3/4), m = (3/8, 5/8).
        let expected = 0.5
            * (0.5 * (4f64 / 3.0).ln()
                + 0.5 * (4f64 / 5.0).ln()
                + 0.25 * (2f64 / 3.0).ln()
                + 0.75 * (6f64 / 5.0).ln());
        let found = jensen_shannon(&[2.0, 2.0], &[1.0, 3.0]).expect("both have terms");
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }

    #[test]
    fn terms_are_lower_case_and_without_marks() {
        let mut found = Terms::new();
        for text in ["I don't — Don 't!", "Uh-huh, 3.5 Ärzte"] {
            count_terms(text, &mut found);
        }
        let expected = [
            ("i", 1),
            ("don", 2),
            ("t", 2),
            ("uh", 1),
            ("huh", 1),
            ("3", 1),
            ("5", 1),
            ("ärzte", 1),
        ];
        assert_eq!(found, terms(&expected));
    }

    #[test]
    fn rare_terms_are_left_out_and_ties_go_by_the_alphabet() {
        let a = terms(&[("the", 4), ("b", 1), ("c", 1)]);
        let b = terms(&[("the", 4), ("a", 1)]);
        // "the" and, of three with a count of 1, "a".
        let expected = jensen_shannon(&[4.0, 0.0], &[4.0, 1.0]);
        assert_eq!(term_divergence(&a, &b, 2), expected);
        assert_eq!(term_divergence(&a, &b, 1), Some(0.0));
    }
}

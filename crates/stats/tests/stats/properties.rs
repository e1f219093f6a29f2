//! Properties that hold for any numbers.

use proptest::prelude::*;
use totune_stats::{
    Csr, Logistic, Pairing, accuracy, f1_micro, f1_upper_bound, for_class, holm, permutation_test,
    quartiles, tokens,
};

fn answers() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    prop::collection::vec((0..2usize, 0..2usize), 1..60).prop_map(|pairs| pairs.into_iter().unzip())
}

proptest! {
    #[test]
    fn no_f1_exceeds_its_bound((gold, predicted) in answers()) {
        let scores = for_class(&gold, &predicted, 1);
        let prevalence = scores.support as f64 / gold.len() as f64;
        prop_assume!(scores.support > 0);
        prop_assert!(scores.f1 <= f1_upper_bound(prevalence, accuracy(&gold, &predicted)) + 1e-12);
    }

    #[test]
    fn micro_f1_is_accuracy((gold, predicted) in answers()) {
        prop_assert!((f1_micro(&gold, &predicted, 2) - accuracy(&gold, &predicted)).abs() < 1e-12);
    }

    #[test]
    fn holm_never_lowers_a_p_value_and_keeps_their_order(p in prop::collection::vec(0.0..1.0f64, 0..12)) {
        let adjusted = holm(&p);
        for i in 0..p.len() {
            prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn quartiles_ascend_between_the_extremes(values in prop::collection::vec(-1e6..1e6f64, 1..40)) {
        let q = quartiles(&values);
        prop_assert!(q.is_sorted());
        prop_assert!(values.contains(&q[0]) && values.contains(&q[4]));
    }

    #[test]
    fn a_permutation_test_does_not_care_which_sample_comes_first(
        a in prop::collection::vec(-5.0..5.0f64, 1..7),
        b in prop::collection::vec(-5.0..5.0f64, 1..7),
    ) {
        let p = |a, b| permutation_test(a, b, Pairing::Unpaired, 10_000, 0).expect("not empty").p;
        prop_assert!((p(&a, &b) - p(&b, &a)).abs() < 1e-12);
    }

    #[test]
    fn tokens_are_found_in_any_text(text in "\\PC*") {
        for token in tokens(&text) {
            prop_assert!(token.chars().count() > 1);
            prop_assert!(text.to_lowercase().contains(&token));
        }
    }

    /// Checks that the solution is the minimum in the original columns, whatever columns are merged or left out in the
    /// search.
    #[test]
    fn at_the_minimum_the_gradient_of_every_column_vanishes(
        rows in prop::collection::vec(prop::collection::vec((0..12u32, -2.0..2.0f64), 0..6), 4..20),
        c in 0.1..5.0f64,
    ) {
        let mut x = Csr::new(12);
        rows.into_iter().for_each(|mut row| x.push_row(&mut row));
        let y: Vec<usize> = (0..x.n_rows()).map(|i| i % 2).collect();
        let fitted = Logistic { c, max_iter: 1000, tol: 1e-9, ..Logistic::default() }.fit(&x, &y);
        let mut gradient = fitted.coef.clone();
        for ((columns, values), (p, y)) in x.rows().zip(fitted.probability(&x).iter().zip(&y)) {
            for (&column, value) in columns.iter().zip(values) {
                gradient[column as usize] += c * (p - *y as f64) * value;
            }
        }
        prop_assert!(gradient.iter().all(|g| g.abs() < 1e-4), "{gradient:?}");
    }
}

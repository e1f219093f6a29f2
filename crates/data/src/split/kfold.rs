//! Stratified folds, fold for fold as scikit-learn 1.9 makes them.

use super::numpy::{pairwise_sum, std};
use super::{Duplicates, FoldKind, KFold};
use crate::Dataset;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, HashMap};
use totune_stats::{RandomState, stratified_folds};

impl KFold {
    /// The fold that tests each example.
    ///
    /// With `duplicates = "group"`, folds in file order or shuffled are made as ever and then each repeated text
    /// follows its first row, so that only repeats move; grouped folds keep groups whole that share a text.
    pub(super) fn assign(
        &self,
        dataset: &Dataset,
        classes: &[usize],
        first: &[usize],
    ) -> Result<Vec<usize>> {
        // One more for the examples of a multi-label dataset without a label.
        let n_classes = dataset.labels.len() + 1;
        let mut counts = vec![0; n_classes];
        classes.iter().for_each(|&class| counts[class] += 1);
        let largest = counts.iter().copied().max().unwrap_or(0);
        ensure!(
            self.folds <= largest,
            "folds: {}; expected at most {largest}, the size of the largest class",
            self.folds
        );
        let whole = self.duplicates == Duplicates::Group;
        if self.by == FoldKind::Group {
            let groups = groups(dataset, whole.then_some(first));
            return stratified_groups(classes, &counts, &groups, self.folds);
        }
        let seed = self.seed.filter(|_| self.by == FoldKind::Shuffled);
        let rng = seed.map(|seed| RandomState::new(seed as u32));
        let mut folds = stratified_folds(classes, self.folds, rng);
        if whole {
            folds = first.iter().map(|&first| folds[first]).collect();
        }
        Ok(folds)
    }
}

/// `StratifiedGroupKFold`: groups, the most one-sided first, each go to the fold where the classes end up most evenly
/// spread over the folds, and to the smaller fold in a tie.
fn stratified_groups(
    classes: &[usize],
    counts: &[usize],
    groups: &[usize],
    n_folds: usize,
) -> Result<Vec<usize>> {
    let present: Vec<usize> = (0..counts.len())
        .filter(|&class| counts[class] > 0)
        .collect();
    let n_groups = groups.iter().max().map_or(0, |last| last + 1);
    ensure!(
        n_folds <= n_groups,
        "folds: {n_folds}; expected at most {n_groups}, the number of groups"
    );
    let mut per_group = vec![vec![0.0; present.len()]; n_groups];
    let column: HashMap<usize, usize> = present
        .iter()
        .enumerate()
        .map(|(column, &class)| (class, column))
        .collect();
    for (class, &group) in classes.iter().zip(groups) {
        per_group[group][column[class]] += 1.0;
    }
    let totals: Vec<f64> = present.iter().map(|&class| counts[class] as f64).collect();
    let spread: Vec<f64> = per_group.iter().map(|row| std(row)).collect();
    let mut order: Vec<usize> = (0..n_groups).collect();
    order.sort_by(|&a, &b| spread[b].total_cmp(&spread[a]));
    let mut per_fold = vec![vec![0.0; present.len()]; n_folds];
    let mut fold_of = vec![0; n_groups];
    for group in order {
        let fold = best_fold(&mut per_fold, &totals, &per_group[group]);
        add(&mut per_fold[fold], &per_group[group], 1.0);
        fold_of[group] = fold;
    }
    Ok(groups.iter().map(|&group| fold_of[group]).collect())
}

fn best_fold(per_fold: &mut [Vec<f64>], totals: &[f64], group: &[f64]) -> usize {
    let mut best = 0;
    let mut least_uneven = f64::INFINITY;
    let mut least_size = f64::INFINITY;
    for fold in 0..per_fold.len() {
        add(&mut per_fold[fold], group, 1.0);
        let uneven = unevenness(per_fold, totals);
        add(&mut per_fold[fold], group, -1.0);
        let size: f64 = per_fold[fold].iter().sum();
        // numpy.isclose with its default tolerances.
        let close = (uneven - least_uneven).abs() <= 1e-8 + 1e-5 * least_uneven.abs();
        if uneven < least_uneven || (close && size < least_size) {
            (best, least_uneven, least_size) = (fold, uneven, size);
        }
    }
    best
}

/// The mean over classes of the standard deviation over folds of the share of the class that a fold has.
fn unevenness(per_fold: &[Vec<f64>], totals: &[f64]) -> f64 {
    let n_folds = per_fold.len() as f64;
    let deviations: Vec<f64> = totals
        .iter()
        .enumerate()
        .map(|(class, total)| {
            let shares = || per_fold.iter().map(|fold| fold[class] / total);
            // Added one by one: NumPy reduces the first axis of a matrix row after row.
            let mean = shares().fold(0.0, |sum, share| sum + share) / n_folds;
            (shares().fold(0.0, |sum, share| sum + (share - mean) * (share - mean)) / n_folds)
                .sqrt()
        })
        .collect();
    pairwise_sum(&deviations) / totals.len() as f64
}

fn add(counts: &mut [f64], group: &[f64], sign: f64) {
    counts
        .iter_mut()
        .zip(group)
        .for_each(|(count, more)| *count += sign * more);
}

/// A number for each example's group, in the order of the groups' names; with `first`, groups that share a text are
/// one, under the first of their names.
fn groups(dataset: &Dataset, first: Option<&[usize]>) -> Vec<usize> {
    let name = |index: usize| dataset.examples[index].group.as_deref().unwrap_or("");
    let names: BTreeMap<&str, usize> = (0..dataset.examples.len())
        .map(|index| (name(index), 0))
        .collect();
    let names: BTreeMap<&str, usize> = names
        .into_keys()
        .enumerate()
        .map(|(number, name)| (name, number))
        .collect();
    let mut parent: Vec<usize> = (0..names.len()).collect();
    for (index, &first) in first.unwrap_or_default().iter().enumerate() {
        let (a, b) = (
            root(&parent, names[name(index)]),
            root(&parent, names[name(first)]),
        );
        parent[a.max(b)] = a.min(b);
    }
    let roots: Vec<usize> = (0..dataset.examples.len())
        .map(|index| root(&parent, names[name(index)]))
        .collect();
    let used: BTreeMap<usize, usize> = roots.iter().map(|&root| (root, 0)).collect();
    let dense: HashMap<usize, usize> = used
        .into_keys()
        .enumerate()
        .map(|(number, root)| (root, number))
        .collect();
    roots.into_iter().map(|root| dense[&root]).collect()
}

fn root(parent: &[usize], mut node: usize) -> usize {
    while parent[node] != node {
        node = parent[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Example, Input, Split, Target};
    use std::collections::HashSet;

    /// Rows as (text, class, group).
    fn dataset(rows: &[(&str, usize, &str)]) -> Dataset {
        let examples = rows
            .iter()
            .enumerate()
            .map(|(index, &(text, class, group))| Example {
                id: index.to_string(),
                input: Input::Text(text.into()),
                target: Target::Class(class),
                group: (!group.is_empty()).then(|| group.to_string()),
            })
            .collect();
        crate::split::two_classes(examples)
    }

    fn tests(
        dataset: &Dataset,
        folds: usize,
        by: FoldKind,
        duplicates: Duplicates,
    ) -> Vec<Vec<usize>> {
        let seed = (by == FoldKind::Shuffled).then_some(0);
        let split = Split::KFold(KFold {
            folds,
            by,
            seed,
            duplicates,
        });
        (0..folds)
            .map(|fold| split.divide(dataset, fold).expect("a division").test)
            .collect()
    }

    const ROWS: [(&str, usize, &str); 8] = [
        ("a", 0, "x"),
        ("b", 1, "x"),
        ("c", 0, "y"),
        ("d", 1, "y"),
        ("a", 0, "z"),
        ("f", 1, "z"),
        ("g", 0, ""),
        ("h", 1, ""),
    ];

    #[test]
    fn in_file_order_each_class_is_cut_in_turn() {
        let data = dataset(&ROWS);
        assert_eq!(
            tests(&data, 2, FoldKind::File, Duplicates::Keep),
            [[0, 1, 2, 3], [4, 5, 6, 7]]
        );
    }

    #[test]
    fn a_repeated_text_follows_its_first_row_and_nothing_else_moves() {
        let data = dataset(&ROWS);
        assert_eq!(
            tests(&data, 2, FoldKind::File, Duplicates::Group),
            [vec![0, 1, 2, 3, 4], vec![5, 6, 7]]
        );
    }

    #[test]
    fn groups_that_share_a_text_are_one() {
        let data = dataset(&ROWS);
        let folds = tests(&data, 2, FoldKind::Group, Duplicates::Group);
        let with_first = folds
            .iter()
            .find(|fold| fold.contains(&0))
            .expect("every row is tested");
        assert!(
            [0, 1, 4, 5].iter().all(|row| with_first.contains(row)),
            "{folds:?}"
        );
    }

    #[test]
    fn no_text_leaks_when_duplicates_are_grouped() {
        let data = dataset(&ROWS);
        for by in [FoldKind::File, FoldKind::Shuffled, FoldKind::Group] {
            let seed = (by == FoldKind::Shuffled).then_some(0);
            let split = Split::KFold(KFold {
                folds: 2,
                by,
                seed,
                duplicates: Duplicates::Group,
            });
            let leaked: usize = (0..2)
                .map(|fold| split.divide(&data, fold).expect("a division").leaked)
                .sum();
            assert_eq!(leaked, 0, "{by:?}");
        }
        let kept = Split::KFold(KFold {
            folds: 2,
            by: FoldKind::File,
            seed: None,
            duplicates: Duplicates::Keep,
        });
        assert_eq!(kept.divide(&data, 0).expect("a division").leaked, 1);
    }

    #[test]
    fn every_group_is_tested_in_one_fold() {
        let data = dataset(&ROWS);
        let mut seen = HashSet::new();
        for fold in tests(&data, 4, FoldKind::Group, Duplicates::Keep) {
            let groups: HashSet<_> = fold
                .iter()
                .map(|&index| data.examples[index].group.clone())
                .collect();
            assert!(groups.into_iter().all(|group| seen.insert(group)));
        }
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn too_many_folds_are_an_error() {
        for (by, expected) in [
            (
                FoldKind::File,
                "folds: 5; expected at most 4, the size of the largest class",
            ),
            (
                FoldKind::Group,
                "folds: 3; expected at most 2, the number of groups",
            ),
        ] {
            let rows: Vec<(&str, usize, &str)> = ROWS
                .iter()
                .map(|&(text, class, group)| (text, class, if group == "x" { "x" } else { "" }))
                .collect();
            let folds = if by == FoldKind::File { 5 } else { 3 };
            let split = Split::KFold(KFold {
                folds,
                by,
                seed: None,
                duplicates: Duplicates::Keep,
            });
            assert_eq!(
                split
                    .divide(&dataset(&rows), 0)
                    .expect_err("too many")
                    .to_string(),
                expected
            );
        }
    }
}

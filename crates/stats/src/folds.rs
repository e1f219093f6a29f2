//! Stratified folds, fold for fold as scikit-learn 1.9 makes them.

use crate::random_state::RandomState;

/// The fold of each example, so that every class is spread evenly (`StratifiedKFold`): sorted classes are dealt to the
/// folds in turn, which gives the number of each class in a fold; then each class is cut in the order of the examples,
/// or its fold numbers are shuffled by `rng`.
pub fn stratified_folds(
    classes: &[usize],
    n_folds: usize,
    mut rng: Option<RandomState>,
) -> Vec<usize> {
    let (classes, n_classes) = by_first_appearance(classes);
    let mut sorted = classes.clone();
    sorted.sort_unstable();
    let mut allocation = vec![vec![0; n_folds]; n_classes];
    for (place, &class) in sorted.iter().enumerate() {
        allocation[class][place % n_folds] += 1;
    }
    let mut folds = vec![0; classes.len()];
    for (class, shares) in allocation.iter().enumerate() {
        let shares = shares.iter().enumerate();
        let mut dealt: Vec<usize> = shares
            .flat_map(|(fold, &share)| std::iter::repeat_n(fold, share))
            .collect();
        if let Some(rng) = &mut rng {
            rng.shuffle(&mut dealt);
        }
        let members = (0..classes.len()).filter(|&index| classes[index] == class);
        for (index, fold) in members.zip(dealt) {
            folds[index] = fold;
        }
    }
    folds
}

/// Classes numbered in the order they first appear, which is the order they are dealt in; and the number of classes
/// that appear.
fn by_first_appearance(classes: &[usize]) -> (Vec<usize>, usize) {
    let largest = classes.iter().max();
    let mut number = vec![None; largest.map_or(0, |largest| largest + 1)];
    let mut seen = 0;
    let renumbered = classes.iter().map(|&class| {
        *number[class].get_or_insert_with(|| {
            seen += 1;
            seen - 1
        })
    });
    (renumbered.collect(), seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_cut_in_order() {
        // scikit-learn 1.9.1: StratifiedKFold(3) of these labels.
        let y = [1, 0, 1, 1, 0, 2, 1, 0, 1, 2];
        let expected = [0, 0, 0, 1, 1, 0, 1, 2, 2, 2];
        assert_eq!(stratified_folds(&y, 3, None), expected);
    }
}

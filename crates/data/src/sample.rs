//! A balanced sample of a split.

use crate::random::{shuffle, stream};
use crate::{Example, Sample};
use anyhow::{Result, ensure};

impl Sample {
    /// Draws the card's number of `examples` for each of `labels`, and keeps them in their order.
    ///
    /// Each label has a random stream of its own, so the sample of one label does not depend on the others.
    pub(crate) fn draw(
        &self,
        split: &str,
        labels: &[String],
        examples: Vec<Example>,
    ) -> Result<Vec<Example>> {
        let mut drawn = vec![false; examples.len()];
        for (class, label) in labels.iter().enumerate() {
            let of_class = |&index: &usize| examples[index].target.class() == Some(class);
            let mut rows: Vec<usize> = (0..examples.len()).filter(of_class).collect();
            ensure!(
                rows.len() >= self.per_label,
                "{} rows are `{label}`; expected at least {}, of which a sample is drawn",
                rows.len(),
                self.per_label
            );
            let mut rng = stream(self.seed, &format!("sample {split}"), class as u64);
            shuffle(&mut rows, &mut rng);
            rows.truncate(self.per_label);
            rows.into_iter().for_each(|row| drawn[row] = true);
        }
        let kept = examples.into_iter().zip(drawn);
        Ok(kept
            .filter_map(|(example, drawn)| drawn.then_some(example))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Target};

    fn examples(classes: &[usize]) -> Vec<Example> {
        let example = |(index, &class): (usize, &usize)| Example {
            id: index.to_string(),
            input: Input::Text(String::new()),
            target: Target::Class(class),
            group: None,
        };
        classes.iter().enumerate().map(example).collect()
    }

    fn drawn(per_label: usize, seed: u64, classes: &[usize]) -> Vec<usize> {
        let labels = ["no".to_string(), "yes".to_string()];
        Sample { per_label, seed }
            .draw("train", &labels, examples(classes))
            .expect("enough of each")
            .iter()
            .map(|example| example.id.parse().expect("a number"))
            .collect()
    }

    #[test]
    fn a_sample_has_as_many_of_each_label_in_file_order_and_depends_on_its_seed() {
        let classes: Vec<usize> = (0..60).map(|row| usize::from(row % 3 == 0)).collect();
        let rows = drawn(5, 1, &classes);
        assert!(rows.is_sorted());
        let positive = rows.iter().filter(|&&row| classes[row] == 1).count();
        assert_eq!((rows.len(), positive), (10, 5));
        assert_eq!(rows, drawn(5, 1, &classes));
        assert_ne!(rows, drawn(5, 2, &classes));
        // All of the rarer label, whatever the seed.
        assert_eq!(drawn(1, 9, &[0, 1]), [0, 1]);
    }

    #[test]
    fn too_few_examples_are_refused_by_the_name_of_the_label() {
        let labels = ["no".to_string(), "yes".to_string()];
        let sample = Sample {
            per_label: 2,
            seed: 1,
        };
        let error = sample.draw("train", &labels, examples(&[0, 1, 0]));
        assert_eq!(
            error.expect_err("one `yes`").to_string(),
            "1 rows are `yes`; expected at least 2, of which a sample is drawn"
        );
    }
}

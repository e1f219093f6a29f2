//! Notes on what an encoder cannot read: texts beyond its length, tokens that its vocabulary lacks.

use totune_data::Task;

use crate::runner::EncoderOfData;

/// Notes for each encoder that does not read all of the training texts, as far as they were measured.
pub(crate) fn notes(encoders: &[EncoderOfData]) -> Vec<String> {
    // Sentences to tag are split instead of being cut.
    let reading = encoders
        .iter()
        .filter(|one| one.facts.task != Task::Tagging);
    let noted = reading.filter_map(|one| {
        let name = one.card.name.as_str();
        note((name, one.max_length()), &one.lengths, one.facts.n_train)
    });
    let unknown = encoders.iter().filter_map(|one| one.unknown.clone());
    noted.chain(unknown).collect()
}

/// The note on an encoder that reads so many tokens of each text, with the lengths of texts in ascending order.
fn note((encoder, most): (&str, usize), lengths: &[usize], n_train: usize) -> Option<String> {
    let n = lengths.len();
    let full = n - lengths.partition_point(|length| *length < most);
    let of_sample = if n < n_train { " in a sample" } else { "" };
    (full > 0).then(|| {
        format!(
            "Training texts that fill the {most} tokens that `{encoder}` reads of each: {full} of {n}{of_sample}; what, if \
             anything, follows in them was not read."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_fill_what_is_read_are_counted() {
        let said = |lengths: &[usize], n_train| note(("minilm", 64), lengths, n_train);
        assert_eq!(said(&[3, 12, 63], 3), None);
        assert_eq!(
            said(&[3, 64, 64], 3).unwrap(),
            "Training texts that fill the 64 tokens that `minilm` reads of each: 2 of 3; what, if anything, follows in them was not read."
        );
        assert!(said(&[64], 9).unwrap().contains(": 1 of 1 in a sample;"));
    }
}

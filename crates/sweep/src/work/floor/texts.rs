//! Vectors of a pretrained encoder.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use totune_adapt::{EntryLayer, InputEncoding};
use totune_data::{Encoded, Pairs};
use totune_model::{AnyEncoder, Encoder, Layers, PooledInput};

use super::FloorSplit;
use crate::inputs::SharedRows;
use crate::spec::Floor;
use crate::{FloorWork, Inputs, RunSpec};

/// Encoding of texts as vectors.
pub(super) struct Texts<'a> {
    inputs: &'a Inputs,
    dataset: &'a str,
    name: &'a str,
    encoder: &'a AnyEncoder,
    encoding: InputEncoding,
    /// Entry layer of the vectors: only the top one, or one of all.
    start: EntryLayer,
    layer: Option<usize>,
    batch_size: usize,
    /// Seconds that it took before to compute vectors that were cached.
    pub saved: Rc<Cell<f64>>,
}

/// One vector for each example, or two.
pub(super) struct Vectors {
    /// Vector of the text, of the first text of a pair, or of a pair as one input: `[examples, width]`.
    pub first: Vec<f32>,
    /// Vector of the second text of a pair that was encoded separately.
    pub second: Option<Vec<f32>>,
    pub width: usize,
}

impl<'a> Texts<'a> {
    /// # Errors
    /// When the encoder was not loaded, or lacks the layer.
    pub fn of(spec: &'a RunSpec, work: &'a FloorWork, inputs: &'a Inputs) -> Result<Self> {
        let (pooling, layer, pairs) = match &work.floor {
            Floor::Vectors {
                pooling,
                layer,
                pairs,
                ..
            } => (pooling, *layer, *pairs),
            Floor::Cosine { pooling, layer, .. } => (pooling, *layer, Pairs::Separate),
            Floor::Majority {} | Floor::WordCounts { .. } => bail!("no floor of vectors"),
        };
        let given = "validated to be given";
        let name = work.encoder.as_deref().context(given)?;
        let encoder = &inputs.encoder(name)?.loaded.encoder;
        let n_layers = encoder.n_layers();
        if let Some(layer) = layer {
            ensure!(
                layer <= n_layers,
                "floor.layer: found {layer}, expected at most {n_layers}, the number of layers of the encoder"
            );
        }
        let layers = match layer {
            None => Layers::Top,
            Some(_) => Layers::mix(true),
        };
        Ok(Self {
            inputs,
            dataset: &spec.dataset,
            name,
            encoder,
            encoding: InputEncoding::of_texts(work.max_length.context(given)?, pairs),
            start: EntryLayer::Pooled(PooledInput {
                pooling: pooling.pooling(),
                layers,
            }),
            layer,
            batch_size: work.evaluation_batch_size.context(given)?,
            saved: Rc::default(),
        })
    }

    /// Parameters of the encoder.
    pub fn n_parameters(&self) -> u64 {
        burn::module::Module::num_params(self.encoder) as u64
    }

    /// The vectors of a part's examples.
    pub fn vectors(&self, part: &FloorSplit) -> Result<Vectors> {
        ensure!(
            part.dataset().tagging.is_none(),
            "a floor of vectors has one vector for each text; expected a dataset with a label or a score for each, `{}` has tags",
            part.dataset().name
        );
        let examples = (self.dataset, part.of.split);
        let encoding = (self.name, &self.encoding);
        let rows = (self.inputs).shared_rows(examples, encoding, (None, &part.of.indices))?;
        let mut firsts = rows.encoded();
        let mut seconds = Vec::new();
        if firsts.iter().any(|row| row.apart) {
            let split = firsts.iter_mut().enumerate().map(|(row, first)| {
                second_text(first).with_context(|| {
                    let id = rows.id(row);
                    format!("example {id}: the second text is empty")
                })
            });
            seconds = split.collect::<Result<_>>()?;
        }
        Ok(Vectors {
            first: self.encode(&rows, (&firsts, "first"))?,
            second: if seconds.is_empty() {
                None
            } else {
                Some(self.encode(&rows, (&seconds, "second"))?)
            },
            width: self.encoder.hidden(),
        })
    }

    /// The vectors of the examples, whose rows are computed with others.
    fn encode(&self, rows: &SharedRows, texts: (&[Encoded], &'static str)) -> Result<Vec<f32>> {
        let clock = Instant::now();
        let settings = (self.name, self.start, self.batch_size);
        let all = self.inputs.vectors(rows, texts, settings)?;
        let share = rows.places.len() as f64 / all.len().max(1) as f64;
        let saved = all.seconds() * share - clock.elapsed().as_secs_f64();
        self.saved.set(self.saved.get() + saved.max(0.0));
        let all = all.vectors();
        let of_row = all.len() / texts.0.len().max(1);
        let width = self.encoder.hidden();
        let from = self.layer.unwrap_or(0) * width;
        let vectors = rows.places.iter().map(|place| {
            let of_row = &all[place * of_row..(place + 1) * of_row];
            &of_row[from..from + width]
        });
        Ok(vectors.flatten().copied().collect())
    }
}

/// Takes the second text out of a pair whose texts are encoded separately, as an input of its own; `None` where there
/// is none.
fn second_text(row: &mut Encoded) -> Option<Encoded> {
    let at = row.type_ids.iter().position(|&kind| kind == 1)?;
    let second = Encoded {
        ids: row.ids.split_off(at),
        // A single text has only segment 0.
        type_ids: vec![0; row.type_ids.split_off(at).len()],
        characters: row.characters.split_off(at.min(row.characters.len())),
        ..Encoded::default()
    };
    row.apart = false;
    row.second_opened = false;
    Some(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_taken_apart_into_texts_that_stand_alone() {
        let mut first = Encoded {
            ids: vec![101, 7, 102, 101, 8, 9, 102],
            type_ids: vec![0, 0, 0, 1, 1, 1, 1],
            second_opened: true,
            apart: true,
            characters: Vec::new(),
        };
        let second = second_text(&mut first).expect("a second text");
        assert_eq!(
            (&first.ids[..], &first.type_ids[..]),
            (&[101, 7, 102][..], &[0; 3][..])
        );
        assert_eq!(
            (&second.ids[..], &second.type_ids[..]),
            (&[101, 8, 9, 102][..], &[0; 4][..])
        );
        assert!(!first.apart && !first.second_opened && !second.apart);
        assert!(second_text(&mut first).is_none());
    }
}

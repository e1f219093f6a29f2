//! Probes of each layer of an encoder: diagnostic classifiers and mutual information.

use std::ops::Range;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use totune_adapt::{EntryLayer, FrozenPass, InputEncoding, Stop, StoredDtype};
use totune_data::{Dataset, Encoded, Target, Task, shuffle, stream};
use totune_model::{Encoder, Layers, PooledInput};
use totune_record::RunRow;
use totune_stats::{Dense, Edge, Linear, information_bound};

use super::gold::GoldTargets;
use super::splits::{self, Splits};
use super::tune::{record, train};
use super::{Outcome, Resources, Stopwatch, final_score};
use crate::{Information, Inputs, ProbeWork, RunSpec, TuneWork};

/// Fewest examples that the mutual information is estimated of.
const FEWEST: usize = 20;

pub(super) fn perform(
    spec: &RunSpec,
    work: &ProbeWork,
    mut run: RunRow,
    resources: Resources,
) -> Result<Outcome> {
    let inputs = resources.inputs;
    let parts = ProbeData::new(spec, work, inputs)?;
    let (vectors, evals) = match &work.training {
        None => {
            let encoder = &inputs.encoder(&work.encoder)?.loaded.encoder;
            run.params_total = burn::module::Module::num_params(encoder) as u64;
            run.stop_reason = "computed".to_string();
            run.cpu_seconds = Some(0.0);
            (parts.vectors(encoder, (work, inputs))?, Vec::new())
        }
        Some(training) => {
            let tune = TuneWork {
                encoder: work.encoder.clone(),
                training: (**training).clone(),
            };
            let outcome = train(spec, &tune, &mut run, resources)?;
            let evals = record(&mut run, training, &outcome);
            if matches!(outcome.stop, Stop::Diverged(_)) {
                return Ok(Outcome {
                    run,
                    evals,
                    predictions: Vec::new(),
                });
            }
            (
                parts.vectors(&outcome.model.encoder, (work, inputs))?,
                evals,
            )
        }
    };
    run.dtype = "f32".to_string();
    run.cache_seconds += vectors.seconds;

    // Many small problems: in parallel, each on one thread.
    let probing = Stopwatch::start();
    let scores: Vec<Vec<(String, f64)>> = (0..vectors.layers())
        .into_par_iter()
        .map(|layer| parts.classifier(&vectors.layer(layer), work))
        .collect::<Result<_>>()?;
    run.train_seconds += vectors.seconds + probing.seconds();
    let both = run.cpu_seconds.zip(probing.cpu_seconds());
    run.cpu_seconds = both.map(|(training, probing)| training + probing);
    let estimating = Stopwatch::start();
    let information: Vec<Vec<(String, f64)>> = match work.mi {
        Information::Off => Vec::new(),
        Information::Edge => (0..vectors.layers())
            .into_par_iter()
            .map(|layer| parts.information(&vectors.layer(layer).test, spec.seed, layer))
            .collect::<Result<_>>()?,
    };
    run.eval_seconds += estimating.seconds();

    let mut evals = evals;
    for scores in [scores, information] {
        for (layer, scores) in scores.into_iter().enumerate() {
            evals.extend(scores.into_iter().map(|(metric, value)| {
                let metric = format!("{metric}@layer-{layer}");
                final_score(&run, ("test", parts.test.rows.len()), &metric, value)
            }));
        }
    }
    Ok(Outcome {
        run,
        evals,
        predictions: Vec::new(),
    })
}

/// Examples that classifiers are trained and evaluated on.
struct ProbeData<'a> {
    dataset: &'a Dataset,
    train: EncodedSplit,
    test: EncodedSplit,
}

struct EncodedSplit {
    rows: Vec<Encoded>,
    answers: GoldTargets,
}

impl<'a> ProbeData<'a> {
    fn new(spec: &RunSpec, work: &ProbeWork, inputs: &'a Inputs) -> Result<Self> {
        let splits = Splits::of(spec, inputs)?;
        let dataset = inputs.dataset(&spec.dataset, "train")?;
        ensure!(
            dataset.tagging.is_none(),
            "a probe has one vector for each example; expected a dataset with a label or a score for each, `{}` has tags",
            dataset.name
        );
        ensure!(
            dataset.task != Task::MultiLabel,
            "a probe has one label for each example; expected a dataset with one, `{}` has several",
            dataset.name
        );
        let part = |from: &splits::Subset| -> Result<EncodedSplit> {
            let encoding = InputEncoding::of_texts(work.max_length, work.pairs);
            let rows = inputs.rows(&spec.dataset, from.split, &work.encoder, &encoding)?;
            let answers = GoldTargets::of(from)?;
            let rows = from.indices.iter().map(|&row| rows.encoded[row].clone());
            Ok(EncodedSplit {
                rows: rows.collect(),
                answers,
            })
        };
        let (train, test) = (part(&splits.train)?, part(&splits.test)?);
        train.answers.check_different()?;
        if work.mi == Information::Edge {
            ensure!(
                matches!(test.answers, GoldTargets::Classes(_)),
                "mi: expected \"off\", since `{}` has scores instead of labels",
                dataset.name
            );
            ensure!(
                test.rows.len() >= FEWEST,
                "mi: {} test examples; expected at least {FEWEST}",
                test.rows.len()
            );
        }
        Ok(Self {
            dataset,
            train,
            test,
        })
    }

    /// The vectors of both parts in all layers.
    fn vectors<E: Encoder>(
        &self,
        encoder: &E,
        (work, inputs): (&ProbeWork, &Inputs),
    ) -> Result<Vectors> {
        let start = EntryLayer::Pooled(PooledInput {
            pooling: work.input.pooling(),
            layers: Layers::mix(true),
        });
        let of = |part: &EncodedSplit| {
            let dtype = StoredDtype::F32;
            let batch = work.evaluation_batch_size;
            let watch = |_| inputs.unless_stopped();
            FrozenPass::new(encoder, &part.rows, start, dtype, batch)
                .watched(&watch)
                .compute()
        };
        let (train, test) = (of(&self.train)?, of(&self.test)?);
        Ok(Vectors {
            seconds: train.seconds() + test.seconds(),
            train: train.vectors(),
            test: test.vectors(),
            width: encoder.hidden(),
            all: encoder.hidden() * (encoder.n_layers() + 1),
        })
    }

    /// Scores of a classifier of one layer, by the dataset's metrics.
    fn classifier(&self, layer: &Layer, work: &ProbeWork) -> Result<Vec<(String, f64)>> {
        let metrics = &self.dataset.metrics;
        let predicted: Vec<Target> = match (&self.train.answers, &self.test.answers) {
            (GoldTargets::Classes(train), GoldTargets::Classes(_)) => {
                let labels = self.dataset.labels.len();
                let fitted = work.logistic.model().fit_dense(&layer.train, train, labels);
                let predicted = fitted.predict(&layer.test).into_iter();
                predicted.map(Target::Class).collect()
            }
            (GoldTargets::Scores(train), GoldTargets::Scores(_)) => {
                let predicted = Linear::fit(&layer.train, train).predict(&layer.test);
                predicted.into_iter().map(Target::Value).collect()
            }
            _ => anyhow::bail!("one part has labels and the other scores; expected one kind"),
        };
        let scores = self.test.answers.metrics(self.dataset, &predicted);
        let asked = scores
            .into_iter()
            .filter(|(name, _)| metrics.iter().any(|metric| metric == name));
        Ok(asked.collect())
    }

    /// Mutual information of a layer and the labels of the test part, in bits, and the same for shuffled labels and for
    /// vectors whose columns are shuffled one by one.
    fn information(&self, x: &Dense<f32>, seed: u64, layer: usize) -> Result<Vec<(String, f64)>> {
        let GoldTargets::Classes(classes) = &self.test.answers else {
            anyhow::bail!("scores have no mutual information here; expected labels");
        };
        let mut other_classes = classes.clone();
        shuffle(&mut other_classes, &mut stream(seed, "probe labels", 0));
        // Each column keeps its own numbers, so its distribution stays the same.
        let mut other = vec![0.0; x.n_rows() * x.n_columns()];
        let mut random = stream(seed, "probe states", layer as u64);
        for column in 0..x.n_columns() {
            let mut values: Vec<f32> = x.rows().map(|row| row[column]).collect();
            shuffle(&mut values, &mut random);
            for (row, value) in other.chunks_mut(x.n_columns()).zip(values) {
                row[column] = value;
            }
        }
        let other = Dense::new(&other, x.n_columns());
        let mut all = Vec::new();
        for (suffix, x, classes) in [
            ("", x, classes),
            ("-random-labels", x, &other_classes),
            ("-random-states", &other, classes),
        ] {
            if let Some(edge) = Edge::default().estimate_classes(x, classes) {
                all.push((format!("mi{suffix}"), edge.second_pass));
                all.push((format!("mi-first-pass{suffix}"), edge.first_pass));
            }
            // Missing where a class is too rare to be split.
            let bound = information_bound(x, classes);
            all.extend(bound.map(|bits| (format!("mi-2{suffix}"), bits)));
        }
        Ok(all)
    }
}

/// One vector for each example and layer, the layers of an example one after the other.
struct Vectors {
    train: Vec<f32>,
    test: Vec<f32>,
    /// Width of one layer.
    width: usize,
    /// Width of all layers.
    all: usize,
    /// Seconds of their computation.
    seconds: f64,
}

/// The vectors of one layer.
struct Layer<'a> {
    train: Dense<'a, f32>,
    test: Dense<'a, f32>,
}

impl Vectors {
    fn layers(&self) -> usize {
        self.all / self.width
    }

    fn layer(&self, layer: usize) -> Layer<'_> {
        let columns: Range<usize> = layer * self.width..(layer + 1) * self.width;
        Layer {
            train: Dense::new(&self.train, self.all).columns(columns.clone()),
            test: Dense::new(&self.test, self.all).columns(columns),
        }
    }
}

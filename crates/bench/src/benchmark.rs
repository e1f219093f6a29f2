//! All benchmarks by name, and the workers of our sides.

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

use crate::comparison::Comparison;
use crate::desk::Desk;
use crate::worker::Worker;
use crate::{
    bf16, cache, data, gpu, operators, peer, peft, predict, pretrain, probes, product, recurrent,
    transformer, update,
};

/// A comparison that can be run by its name.
pub struct Benchmark {
    /// Its name, also that of its files of results.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// One-line list of needs besides this program.
    pub needs: &'static str,
    /// Default number of rounds of alternation.
    pub rounds: usize,
    make: fn(&Desk, usize) -> Result<Comparison>,
}

/// Every benchmark.
pub const ALL: [Benchmark; 15] = [
    Benchmark {
        name: "peer",
        about: "training steps and inference next to PyTorch + transformers",
        needs: "Python with torch and transformers",
        rounds: 5,
        make: |desk, _| peer::comparison(desk),
    },
    Benchmark {
        name: "peft",
        about: "steps of LoRA and BitFit next to PEFT and PyTorch",
        needs: "Python with torch, transformers and peft",
        rounds: 5,
        make: |desk, _| peft::comparison(desk),
    },
    Benchmark {
        name: "bf16",
        about: "bf16 matmuls against f32, ours and PyTorch's autocast",
        needs: "Python with torch and transformers; RTE, MRPC, CoLA for real batches",
        rounds: 3,
        make: |desk, _| bf16::comparison(desk),
    },
    Benchmark {
        name: "gpu",
        about: "training steps and inference on a GPU next to PyTorch, eager and compiled",
        needs: "a GPU and --device cuda; Python with CUDA's torch, and transformers",
        rounds: 3,
        make: |desk, _| gpu::comparison(desk),
    },
    Benchmark {
        name: "pretrain",
        about: "pre-training steps (masked LM, biLM) in f32 and bf16 next to PyTorch",
        needs: "Python with torch and transformers",
        rounds: 3,
        make: |desk, _| pretrain::comparison(desk),
    },
    Benchmark {
        name: "operators",
        about: "operators that a GPU would get in a training step, ours and PyTorch's",
        needs: "LibTorch; Python with torch and transformers, and a C++ compiler",
        rounds: 1,
        make: |desk, _| operators::comparison(desk),
    },
    Benchmark {
        name: "update",
        about: "AdamW's update of all weights next to PyTorch's and to memcpy",
        needs: "Python with torch and transformers",
        rounds: 5,
        make: |desk, _| update::comparison(desk),
    },
    Benchmark {
        name: "cache",
        about: "epochs with cached activations and without, and a sweep next to PyTorch",
        needs: "Python with torch and transformers; RTE, MRPC, CoLA, all-MiniLM-L6-v2",
        rounds: 2,
        make: cache::comparison,
    },
    Benchmark {
        name: "lstm",
        about: "LSTM and BiLSTM layers next to PyTorch's and burn's",
        needs: "Python with torch",
        rounds: 5,
        make: |desk, _| recurrent::lstm(desk),
    },
    Benchmark {
        name: "elmo",
        about: "ELMo's LSTM with projection and clipping next to PyTorch and burn",
        needs: "Python with torch",
        rounds: 5,
        make: |desk, _| recurrent::elmo(desk),
    },
    Benchmark {
        name: "crf",
        about: "loss, gradient and Viterbi decoding of a CRF next to PyTorch",
        needs: "Python with torch",
        rounds: 5,
        make: |desk, _| recurrent::crf(desk),
    },
    Benchmark {
        name: "heads",
        about: "BiMPM and highway LSTMs next to PyTorch",
        needs: "Python with torch",
        rounds: 5,
        make: |desk, _| recurrent::heads(desk),
    },
    Benchmark {
        name: "probes",
        about: "diagnostic classifiers and mutual information next to scikit-learn",
        needs: "Python with scikit-learn; 400 MB for temporary files",
        rounds: 3,
        make: |desk, _| probes::comparison(desk),
    },
    Benchmark {
        name: "data",
        about: "reading and tokenising next to Hugging Face's datasets + tokenizers",
        needs: "Python with datasets and tokenizers",
        rounds: 5,
        make: |desk, _| data::comparison(desk),
    },
    Benchmark {
        name: "predict",
        about: "predictions for the rows of a file next to transformers' pipeline",
        needs: "Python with torch and transformers; all-MiniLM-L6-v2",
        rounds: 5,
        make: |desk, _| predict::comparison(desk),
    },
];

impl Benchmark {
    /// The benchmark of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|benchmark| benchmark.name == name)
    }

    pub(crate) fn comparison(&self, desk: &Desk) -> Result<Comparison> {
        let mut comparison = (self.make)(desk, desk.rounds(self.rounds))?;
        if desk.tiny {
            comparison.square = Comparison::TINY_SQUARE;
        }
        Ok(comparison)
    }
}

/// Works as a side of the kind `kind` on `case`, as JSON, until standard input ends.
///
/// # Errors
/// When the kind or the case is not known, or the work fails.
pub fn worker(kind: &str, case: &str, worker: &Worker) -> Result<()> {
    match kind {
        "operators" => operators::work(&parsed(case)?, worker),
        "transformer" => transformer::work(&parsed(case)?, worker),
        "bilm" => pretrain::work(&parsed(case)?, worker),
        "recurrent" => recurrent::work(&parsed(case)?, worker),
        "data" => data::work(&parsed(case)?, worker),
        "predict" => predict::work(&parsed(case)?, worker),
        "product" => product::work(&parsed(case)?, worker),
        "probes" => probes::work(&parsed(case)?, worker),
        "epochs" => cache::epochs(&parsed(case)?, worker),
        "update" => update::work(&parsed(case)?, worker),
        "copy" => update::copy(&parsed(case)?, worker),
        "sweep" => cache::sweep(&parsed(case)?, worker),
        _ => bail!("unknown kind of worker `{kind}`"),
    }
}

fn parsed<T: DeserializeOwned>(case: &str) -> Result<T> {
    serde_json::from_str(case).context("not a case of this worker")
}

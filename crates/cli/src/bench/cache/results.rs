//! What was measured: `cache.json`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::worker::Kept;

/// Everything, by task. A run of the benchmark replaces what it measures and leaves the rest as it was.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Processor, cores, memory, system.
    pub machine: String,
    /// Threads of both sides.
    pub threads: usize,
    /// What ran, with versions.
    pub sides: BTreeMap<String, String>,
    /// Bytes that kept states may take.
    pub budget: u64,
    /// By dataset card.
    pub tasks: BTreeMap<String, Task>,
    /// Of the eight tasks, in order.
    pub shares: Vec<Share>,
}

/// One task.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Task {
    /// Training examples.
    pub examples: u64,
    /// Their wordpieces.
    pub tokens: u64,
    /// By strategy.
    pub epochs: BTreeMap<String, Epochs>,
    /// What filling costs, of the same examples in each number type.
    pub fills: Vec<Fill>,
    /// A sweep, if it was run.
    pub sweep: Option<Sweep>,
}

/// Epochs with the cache and without, alternating.
#[derive(Debug, Serialize, Deserialize)]
pub struct Epochs {
    /// Layers that move.
    pub k: usize,
    /// Rate of both.
    pub lr: f64,
    /// Seconds of each epoch with the cache, without what filling it took.
    pub with: Vec<f64>,
    /// Seconds of each epoch without.
    pub without: Vec<f64>,
    /// What was kept before.
    pub kept: Vec<Kept>,
    /// Largest absolute difference of any score of any epoch.
    pub score_difference: f64,
    /// Largest absolute difference of any probability of the final predictions.
    pub answer_difference: f64,
    /// Bytes of the process with the cache.
    pub peak_with: u64,
    /// Bytes of the one without.
    pub peak_without: u64,
}

impl Epochs {
    /// How many times faster an epoch is with the cache.
    pub fn ratio(&self) -> f64 {
        crate::bench::median(&self.without) / crate::bench::median(&self.with)
    }

    /// What the arithmetic says of `layers` layers: a forward pass of a layer counts one, its backward pass two. None
    /// where nothing but the head moves.
    pub fn expected(&self, layers: usize) -> Option<f64> {
        let k = self.k as f64;
        (self.k > 0).then(|| (layers as f64 + 2.0 * k) / (3.0 * k))
    }
}

/// Filling the cache once.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fill {
    /// What numbers are kept in.
    pub dtype: String,
    /// What was kept of the training examples.
    pub kept: Kept,
    /// Bytes of the process.
    pub peak: u64,
}

/// Our sweep, run whole, and what PyTorch's takes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sweep {
    /// Runs of both sides.
    pub runs: usize,
    /// Epochs of each run.
    pub epochs: usize,
    /// Seconds of the whole command: start, reading, encoding, filling, training, scoring, writing.
    pub seconds: f64,
    /// Of which filling the cache with training examples.
    pub filling: f64,
    /// Of which training.
    pub training: f64,
    /// Of which scoring.
    pub scoring: f64,
    /// Bytes of kept states on disk.
    pub states: u64,
    /// Bytes of the process.
    pub peak: u64,
    /// PyTorch's parts.
    pub peers: Vec<Peer>,
}

/// Epochs of PyTorch.
#[derive(Debug, Serialize, Deserialize)]
pub struct Peer {
    /// `frozen` or `last-1`.
    pub strategy: String,
    /// `random` or `bucketed`.
    pub order: String,
    /// Seconds of each epoch that was timed.
    pub epochs: Vec<f64>,
    /// Seconds of scoring dev once.
    pub scoring: f64,
    /// Bytes of the process.
    pub peak: u64,
}

impl Sweep {
    /// Seconds of PyTorch's sweep: what was timed, times how often it comes. Each strategy has half of the runs.
    pub fn peer_seconds(&self, order: &str) -> Option<f64> {
        let peers: Vec<&Peer> = self
            .peers
            .iter()
            .filter(|peer| peer.order == order)
            .collect();
        let times = (self.runs / 2 * self.epochs) as f64;
        let one = |peer: &&Peer| times * (crate::bench::median(&peer.epochs) + peer.scoring);
        (!peers.is_empty()).then(|| peers.iter().map(one).sum())
    }
}

/// Real tokens per computed token of a task.
#[derive(Debug, Serialize, Deserialize)]
pub struct Share {
    /// Dataset card.
    pub dataset: String,
    /// Training examples.
    pub examples: usize,
    /// With length bucketing.
    pub bucketed: f64,
    /// In random order.
    pub random: f64,
}

impl Results {
    /// What `file` holds of this machine and these settings; nothing of others.
    pub fn read(file: &Path, new: Self) -> Result<Self> {
        let Ok(text) = std::fs::read_to_string(file) else {
            return Ok(new);
        };
        let old: Self = serde_json::from_str(&text).with_context(|| {
            format!(
                "{}: not results of this benchmark; remove it to start anew",
                file.display()
            )
        })?;
        let key = |results: &Self| (results.machine.clone(), results.threads, results.budget);
        Ok(if key(&old) == key(&new) { old } else { new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(k: usize) -> Epochs {
        Epochs {
            k,
            lr: 2e-5,
            with: vec![1.0, 2.0, 9.0],
            without: vec![6.0],
            kept: Vec::new(),
            score_difference: 0.0,
            answer_difference: 0.0,
            peak_with: 0,
            peak_without: 0,
        }
    }

    #[test]
    fn the_arithmetic_counts_a_backward_pass_twice() {
        for (k, expected) in [
            (0, None),
            (1, Some(8.0 / 3.0)),
            (2, Some(10.0 / 6.0)),
            (6, Some(1.0)),
        ] {
            assert_eq!(epochs(k).expected(6), expected, "k = {k}");
        }
        assert_eq!(epochs(1).ratio(), 3.0);
    }

    #[test]
    fn what_was_timed_of_the_peer_is_multiplied_by_runs_and_epochs() {
        let peer = |strategy: &str, order: &str, seconds| Peer {
            strategy: strategy.to_string(),
            order: order.to_string(),
            epochs: vec![seconds],
            scoring: 0.5,
            peak: 0,
        };
        let sweep = Sweep {
            runs: 40,
            epochs: 3,
            seconds: 100.0,
            filling: 0.0,
            training: 0.0,
            scoring: 0.0,
            states: 0,
            peak: 0,
            peers: vec![peer("frozen", "random", 2.0), peer("last-1", "random", 3.0)],
        };
        assert_eq!(sweep.peer_seconds("random"), Some(60.0 * 2.5 + 60.0 * 3.5));
        assert_eq!(sweep.peer_seconds("bucketed"), None);
    }

    #[test]
    fn results_of_another_machine_are_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cache.json");
        let results = |machine: &str| Results {
            machine: machine.to_string(),
            ..Results::default()
        };
        let mut old = results("a");
        old.tasks.insert("rte".to_string(), Task::default());
        std::fs::write(&file, serde_json::to_vec(&old).expect("plain data")).expect("written");
        for (machine, tasks) in [("a", 1), ("b", 0)] {
            let read = Results::read(&file, results(machine)).expect("reads");
            assert_eq!(read.tasks.len(), tasks, "{machine}");
        }
        std::fs::write(&file, "[]").expect("written");
        let error = Results::read(&file, results("a")).expect_err("refused");
        assert!(
            error.to_string().contains("remove it to start anew"),
            "{error}"
        );
    }
}

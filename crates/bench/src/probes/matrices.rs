//! The matrices of a comparison, in files that both sides read.

use std::f64::consts::TAU;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use totune_data::stream;
use totune_stats::Solver;

/// The computation on every layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Logistic regression of the training rows, accuracy on the test rows.
    Logistic,
    /// Linear regression of the training rows, Pearson's correlation on the test rows.
    Linear,
    /// EDGE of the test rows and their classes, first and second pass.
    Edge,
}

/// The case of a side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// Folder with `train.f32`, `test.f32` (`[layers, rows, columns]`), `train.gold` and `test.gold` (f64).
    pub folder: PathBuf,
    /// The computation.
    pub what: What,
    /// Optimiser of the logistic regression, on our side.
    pub solver: Solver,
    /// Layers.
    pub layers: usize,
    /// Width of a layer.
    pub columns: usize,
    /// Threads.
    pub threads: usize,
    /// Layers in parallel on one thread each, instead of one after the other on all, on the Python side.
    pub layers_at_once: bool,
}

/// A task of the paper's figures, by its size.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Its name.
    pub name: &'static str,
    /// Training rows.
    pub train: usize,
    /// Test rows.
    pub test: usize,
    /// True for a regression instead of a classification into two classes.
    pub scores: bool,
}

impl Task {
    /// A task of two classes.
    pub const fn new(name: &'static str, train: usize, test: usize) -> Self {
        Self {
            name,
            train,
            test,
            scores: false,
        }
    }

    /// The same task as a regression.
    pub const fn with_scores(mut self) -> Self {
        self.scores = true;
        self
    }

    /// The same task with a few rows.
    pub const fn tiny(mut self) -> Self {
        (self.train, self.test) = (60, 30);
        self
    }
}

/// Directions in which the vectors of a layer vary most.
const FACTORS: usize = 24;

/// Writes synthetic matrices of a task: vectors around a mean that varies by column, which vary along a few directions
/// strongly and along all a little, as means over tokens do. The target depends on some of the directions, more so in
/// higher layers.
pub fn write(folder: &Path, task: &Task, layers: usize, columns: usize) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (split, rows) in [("train", task.train), ("test", task.test)] {
        let mut draw = Normal::new(split, task.name);
        let factors: Vec<f64> = (0..rows * FACTORS).map(|_| draw.next()).collect();
        let answers: Vec<f64> = factors
            .chunks(FACTORS)
            .map(|row| row[..4].iter().sum::<f64>() / 2.0 + 0.5 * draw.next())
            .map(|value| {
                if task.scores {
                    2.5 + value
                } else {
                    f64::from(value > 0.4)
                }
            })
            .collect();
        let mut out = File::create(folder.join(format!("{split}.gold")))?;
        out.write_all(
            &answers
                .iter()
                .flat_map(|a| a.to_le_bytes())
                .collect::<Vec<_>>(),
        )?;
        let mut out = BufWriter::new(File::create(folder.join(format!("{split}.f32")))?);
        for layer in 0..layers {
            // The same directions for both splits.
            let mut shape = Normal::new(&format!("layer {layer}"), task.name);
            let means: Vec<f64> = (0..columns).map(|_| 0.3 * shape.next()).collect();
            let clearer = (layer + 1) as f64 / layers as f64;
            let directions: Vec<f64> = (0..FACTORS * columns)
                .map(|at| {
                    let of_answer = if at / columns < 4 { clearer } else { 1.0 };
                    0.3 * of_answer * shape.next() / (1.0 + (at / columns) as f64).sqrt()
                })
                .collect();
            let mut row = vec![0.0; columns];
            for factors in factors.chunks(FACTORS) {
                row.copy_from_slice(&means);
                for (factor, direction) in factors.iter().zip(directions.chunks(columns)) {
                    for (value, along) in row.iter_mut().zip(direction) {
                        *value += factor * along;
                    }
                }
                for value in &row {
                    let value = (value + 0.05 * draw.next()) as f32;
                    out.write_all(&value.to_le_bytes())?;
                }
            }
        }
        out.flush()?;
    }
    Ok(())
}

/// Normal numbers, by Box and Muller.
struct Normal {
    random: ChaCha8Rng,
    spare: Option<f64>,
}

impl Normal {
    fn new(name: &str, task: &str) -> Self {
        Self {
            random: stream(5, &format!("bench probes, {task}, {name}"), 0),
            spare: None,
        }
    }

    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let mut uniform = || (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let length = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        let angle = TAU * uniform();
        self.spare = Some(length * angle.sin());
        length * angle.cos()
    }
}

/// The numbers of a file.
pub fn read_f32(path: &Path) -> Result<Vec<f32>> {
    let numbers = read::<4>(path)?.into_iter();
    Ok(numbers.map(f32::from_le_bytes).collect())
}

/// The numbers of a file.
pub fn read_f64(path: &Path) -> Result<Vec<f64>> {
    let numbers = read::<8>(path)?.into_iter();
    Ok(numbers.map(f64::from_le_bytes).collect())
}

fn read<const N: usize>(path: &Path) -> Result<Vec<[u8; N]>> {
    let bytes = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let (numbers, rest) = bytes.as_chunks();
    ensure!(
        rest.is_empty(),
        "{}: {} bytes; expected a multiple of {N}",
        path.display(),
        bytes.len()
    );
    Ok(numbers.to_vec())
}

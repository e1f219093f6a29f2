//! Benchmarks: totune compared with PyTorch, scikit-learn, `datasets` and itself with other settings.
//!
//! A [`Benchmark`] makes a [`Comparison`], a list of cases with their sides. Each side is a process of its own
//! ([`side`]): this program again as a [`worker`](worker()), or a Python script of `bench/`. The [`runner`] lets them
//! take turns and keeps the seconds of every step, and [`Results`] are written as one JSON file and one Markdown page.
//! [`regret`] scores choices instead of timing steps, and [`scale`] times whole commands.
//!
//! This crate chooses no device and knows no command line: a [`Desk`] has the settings and starts workers.

mod batches;
mod benchmark;
mod bf16;
mod cache;
mod comparison;
mod counted;
mod data;
mod desk;
mod goals;
mod gpu;
mod machine;
mod memory;
mod moved;
mod operators;
mod page;
mod peer;
mod peft;
mod predict;
mod pretrain;
mod probes;
mod product;
mod recurrent;
pub mod regret;
mod results;
mod runner;
pub mod scale;
mod shape;
mod side;
mod synthetic;
mod target;
mod transformer;
mod update;
mod worker;

pub use benchmark::{ALL, Benchmark, worker};
pub use comparison::{Case, Comparison, Measure, Program, SideSpec, Steps, Tolerance, Unit};
pub use desk::{Desk, StartWorker};
pub use machine::Machine;
pub use page::markdown;
pub use results::{Outcome, Results, Timing};
pub use target::Target;
pub use worker::Worker;

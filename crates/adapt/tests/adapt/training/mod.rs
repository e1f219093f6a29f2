//! Strategies, optimisers and the training loop, on small encoders.
//!
//! One program, since most of what is compiled for one of these files is the same for the others.

use crate::common;

mod architectures;
mod auto_freeze;
mod cache;
mod checkpoints;
mod divergence;
mod gradients;
mod head_lr;
mod learning;
mod optimizers;
mod phases;
mod probe;
mod restarts;
mod state;

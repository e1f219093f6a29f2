//! Strategies, optimisers and the training loop, on small encoders.

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
mod recomputation;
mod restarts;
mod state;

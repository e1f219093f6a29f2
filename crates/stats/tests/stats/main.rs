//! Arithmetic next to the libraries that people trust with it.

mod calibration;
mod chosen_penalties;
mod correlations;
mod curves;
mod dense_models;
mod effects;
mod ensemble;
mod estimates;
mod information;
mod label_sets;
mod properties;
mod scikit_learn;
mod scipy;
mod tagging;

//! Pages, tables and verdicts.

mod committed;
mod curves;
mod pages;
mod report;
mod two_encoders;
mod which_strategy;

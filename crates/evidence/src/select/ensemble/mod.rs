//! Ensembles: joint predictions of several runs, from the class scores that each stored for every test example.
//!
//! An ensemble is declared in `report.toml` and becomes a group of that name. Each of its members' places (a fold and a
//! seed) gives one more run, whose scores are those of the joint predictions and whose cost is that of all members;
//! tables, pairs and claims use it as they use runs that were trained. Only a selection that names an ensemble sees its
//! runs.

mod form;
mod joint;

#[cfg(test)]
mod tests;

//! The fuzz targets of this crate on their seeds and on a few thousand mutations of them.

#[path = "../../../../fuzz/src/drill.rs"]
mod mutations;
#[path = "../../../../fuzz/src/data.rs"]
mod targets;

#[test]
fn no_seed_and_no_mutation_of_one_breaks_a_reader() {
    mutations::all(targets::TARGETS);
}

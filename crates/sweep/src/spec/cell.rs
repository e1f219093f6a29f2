//! The cell of a run: a combination of everything that a grid varies, except for the seed.

use serde_json::Value;

use super::RunSpec;
use super::identity::canonical;

impl RunSpec {
    /// Key shared by the runs of a cell: all settings except for the seed, the arm's name, the number of trials, and the
    /// values that a search chose or tried.
    pub(crate) fn cell(&self) -> String {
        self.cells().next().expect("a spec has a form")
    }

    /// The key of the cell as each schema has it, today's first.
    pub(crate) fn cells(&self) -> impl Iterator<Item = String> + use<> {
        let mut run = self.clone();
        run.seed = 0;
        run.arm.clear();
        run.search_trials = None;
        run.experiment = run.experiment_file().to_string();
        run.forms().map(|mut form| {
            let search = form["search"].as_array().cloned().unwrap_or_default();
            for path in search.iter().filter_map(Value::as_str) {
                if let Some(chosen) = form.pointer_mut(&format!("/{}", path.replace('.', "/"))) {
                    *chosen = Value::Null;
                }
            }
            canonical(&form)
        })
    }
}

//! Runs that are still to be made, so that a cell without runs says whether it will have any.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use totune_record::read_missing;

use super::condition::holds;
use super::run::flatten;

/// The runs that a profile asks for and that its tables do not have yet.
#[derive(Debug, Default)]
pub(super) struct Missing(Vec<Settings>);

/// Settings of one of them.
#[derive(Debug)]
struct Settings {
    /// Values by dotted path.
    facts: BTreeMap<String, Value>,
    /// The paths whose values a search has yet to choose.
    searched: BTreeSet<String>,
}

impl Missing {
    /// Reads those of a folder with tables; none where these are complete.
    pub(super) fn read(results: &Path) -> Result<Self> {
        let specs = read_missing(results)?;
        let read = |(line, spec): (usize, &String)| {
            let spec = serde_json::from_str(spec);
            let file = results.join("missing.jsonl");
            let from = || format!("{}, line {line}: expected a spec as JSON", file.display());
            Ok(Settings::of(spec.with_context(from)?))
        };
        Ok(Self((1..).zip(&specs).map(read).collect::<Result<_>>()?))
    }

    /// Whether any of them meets all conditions, each a path with the values that it may have. A path that is no setting,
    /// as `is_setting` says, is known of runs that were made only, and not asked.
    pub(super) fn any(
        &self,
        conditions: &[(&str, Vec<Value>)],
        is_setting: impl Fn(&str) -> bool,
    ) -> bool {
        let known = |path: &str| {
            is_setting(path) || self.0.iter().any(|other| other.facts.contains_key(path))
        };
        let asked = conditions.iter().filter(|(path, _)| known(path));
        let asked: Vec<&(&str, Vec<Value>)> = asked.collect();
        self.0
            .iter()
            .any(|run| asked.iter().all(|(path, wanted)| run.meets(path, wanted)))
    }
}

impl Settings {
    fn of(spec: Value) -> Self {
        let mut facts = BTreeMap::new();
        flatten("", spec, &mut facts);
        let searched = facts.get("search").and_then(Value::as_array);
        let searched = searched.into_iter().flatten();
        let searched = searched.filter_map(|path| path.as_str().map(str::to_owned));
        Self {
            searched: searched.collect(),
            facts,
        }
    }

    fn meets(&self, path: &str, wanted: &[Value]) -> bool {
        self.searched.contains(path) || holds(self.facts.get(path), wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_that_is_no_spec_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let specs = ["{}", "{\"arm\": "].map(str::to_owned);
        totune_record::write_missing(folder.path(), &specs).unwrap();
        let error = Missing::read(folder.path()).unwrap_err().to_string();
        let expected = "missing.jsonl, line 2: expected a spec as JSON";
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn what_is_still_to_be_run_is_told_by_its_settings() {
        let missing = Missing(vec![
            Settings::of(
                json!({ "arm": "a", "work": { "lr": 1e-3, "k": 2 }, "search": ["work.lr"] }),
            ),
            Settings::of(json!({ "arm": "b", "work": { "lr": 1e-3 } })),
        ]);
        let any = |conditions: &[(&str, Value)]| {
            let conditions = conditions.iter().cloned();
            let conditions: Vec<_> = conditions
                .map(|(path, value)| (path, vec![value]))
                .collect();
            missing.any(&conditions, |path| path == "work.dropout")
        };
        assert!(any(&[("arm", json!("a"))]));
        assert!(!any(&[("arm", json!("c"))]));
        // Searched, known, unknown of it, a setting of other runs, and a field of rows.
        assert!(any(&[("arm", json!("a")), ("work.lr", json!(0.5))]));
        assert!(!any(&[("arm", json!("b")), ("work.lr", json!(0.5))]));
        assert!(!any(&[("arm", json!("b")), ("work.k", json!(2))]));
        assert!(!any(&[("arm", json!("b")), ("work.dropout", json!(0.1))]));
        assert!(any(&[("arm", json!("b")), ("status", json!("ok"))]));
    }
}

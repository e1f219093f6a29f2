//! The arms of an experiment: what it compares, each with a name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use toml::{Table, Value};

use crate::settings::merge::{USE, lay, used};
use crate::settings::suggest;

/// One side of the comparisons that an experiment makes: settings with a name, by which reports select its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Its name, in kebab-case; no other arm of the experiment has it.
    pub name: String,
    /// Display name; not part of a run.
    pub title: String,
    /// Datasets the arm is limited to; all where none is named. Known only for the arms of a profile.
    pub(crate) datasets: Option<Vec<String>>,
    /// Settings that differ from the experiment's.
    pub(crate) settings: Table,
}

impl Arm {
    fn new(name: String, title: Option<String>, settings: Table) -> Self {
        Self {
            title: title.unwrap_or_else(|| name.clone()),
            name,
            datasets: None,
            settings,
        }
    }

    /// True if the arm runs on this dataset.
    pub(crate) fn is_for(&self, dataset: &str) -> bool {
        let datasets = self.datasets.as_ref();
        datasets.is_none_or(|names| names.iter().any(|name| name == dataset))
    }
}

/// `[[arm]]` as written in the file.
#[derive(Debug, Deserialize)]
struct Written {
    name: String,
    title: Option<String>,
    /// Values of settings by their paths: an arm for each combination, with the values in its name.
    #[serde(default)]
    each: BTreeMap<String, Vec<Value>>,
    #[serde(flatten)]
    settings: Table,
}

/// Settings that only some datasets have: `[[override]]`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Override {
    pub datasets: Vec<String>,
    /// True if it comes from the defaults, which several experiments share, so that it may name datasets of others.
    #[serde(skip)]
    pub shared: bool,
    #[serde(flatten)]
    pub settings: Table,
}

/// Keys that neither `[[arm]]` nor `[[override]]` may change: the file's identity, and the tables that both depend on.
const FIXED: [&str; 7] = [
    "paper",
    "experiment",
    "kind",
    "override",
    "arm",
    "presets",
    "settings",
];

/// Takes `[[arm]]` out of an experiment. Without one there is a single arm with the experiment's name.
pub(crate) fn take_arms(table: &mut Table, experiment: &str) -> Result<Vec<Arm>> {
    let written: Vec<Written> = entries(table, "arm")?;
    let mut arms = Vec::new();
    for entry in written {
        let at = format!("[[arm]] `{}`", entry.name);
        check_keys(&at, &entry.settings)?;
        arms.extend(expand(entry).context(at)?);
    }
    if arms.is_empty() {
        arms.push(Arm::new(experiment.to_string(), None, Table::new()));
    }
    let mut names = BTreeSet::new();
    for Arm { name, .. } in &arms {
        ensure!(
            is_kebab(name),
            "[[arm]] `{name}`: expected a name in kebab-case: lower-case letters and digits with single hyphens between"
        );
        ensure!(
            names.insert(name),
            "[[arm]] `{name}`: two arms have this name"
        );
    }
    Ok(arms)
}

/// Takes `[[override]]` out of a table.
pub(crate) fn take_overrides(table: &mut Table) -> Result<Vec<Override>> {
    let overrides: Vec<Override> = entries(table, "override")?;
    for entry in &overrides {
        check_keys("[[override]]", &entry.settings)?;
        ensure!(
            !entry.settings.is_empty(),
            "[[override]]: found nothing to change"
        );
    }
    Ok(overrides)
}

/// The arms of a profile: those that its `arms` names, or all, with what its `[arm.<name>]` change.
pub(crate) fn of_profile(arms: &[Arm], profile: &mut Table, settings: &Table) -> Result<Vec<Arm>> {
    let mut of_profile = arms.to_vec();
    let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    for arm in &mut of_profile {
        arm.settings =
            used(&arm.settings, settings).with_context(|| format!("[[arm]] `{}`", arm.name))?;
    }
    match profile.remove("arm") {
        None => {}
        Some(Value::Table(changes)) => {
            for (name, change) in changes {
                let Some(arm) = of_profile.iter_mut().find(|arm| arm.name == name) else {
                    bail!("arm: {}", suggest::unknown("arm", &name, &known));
                };
                let Value::Table(change) = change else {
                    bail!("arm.{name}: found {change}, expected a table");
                };
                lay(&mut arm.settings, used(&change, settings)?);
            }
        }
        Some(other) => bail!("arm: found {other}, expected tables [profiles.<name>.arm.<name>]"),
    }
    if let Some(names) = profile.remove("arms") {
        let names: Vec<String> = names
            .try_into()
            .map_err(|error| anyhow::anyhow!("arms: {error}"))?;
        for name in &names {
            ensure!(
                known.contains(&name.as_str()),
                "arms: {}",
                suggest::unknown("arm", name, &known)
            );
        }
        of_profile.retain(|arm| names.contains(&arm.name));
    }
    for arm in &mut of_profile {
        if let Some(names) = arm.settings.remove("datasets") {
            let names = names
                .try_into()
                .map_err(|error| anyhow::anyhow!("[[arm]] `{}`: datasets: {error}", arm.name))?;
            arm.datasets = Some(names);
        }
    }
    Ok(of_profile)
}

/// One arm, or one for each combination of the values in `each`.
fn expand(entry: Written) -> Result<Vec<Arm>> {
    let mut arms = vec![Arm::new(entry.name, entry.title, entry.settings)];
    for (path, values) in entry.each {
        let mut with = Vec::new();
        for arm in &arms {
            for value in &values {
                let (place, shown) = (format!("{{{path}}}"), shown(value));
                ensure!(
                    arm.name.contains(&place),
                    "each: the name lacks {place}, so that two arms would have the same"
                );
                let mut arm = arm.clone();
                arm.name = arm.name.replace(&place, &shown);
                arm.title = arm.title.replace(&place, &shown);
                set(&mut arm.settings, &path, value.clone());
                with.push(arm);
            }
        }
        arms = with;
    }
    Ok(arms)
}

/// Sets the value at a path of the settings; names of settings to `use` are added to the existing ones.
fn set(settings: &mut Table, path: &str, value: Value) {
    if path == USE {
        let names = match settings.remove(USE) {
            None => vec![value],
            Some(Value::Array(mut names)) => {
                names.push(value);
                names
            }
            Some(name) => vec![name, value],
        };
        settings.insert(USE.to_string(), Value::Array(names));
        return;
    }
    let (key, below) = match path.split_once('.') {
        None => (path, value),
        Some((key, rest)) => {
            let mut table = Table::new();
            set(&mut table, rest, value);
            (key, Value::Table(table))
        }
    };
    lay(settings, Table::from_iter([(key.to_string(), below)]));
}

/// Formats a value for a name: `5e-3`, `2`.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) => format!("{number:e}"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_kebab(name: &str) -> bool {
    let part = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !part.is_empty() && part.bytes().all(plain)
    };
    name.split('-').all(part)
}

fn check_keys(at: &str, settings: &Table) -> Result<()> {
    match settings.keys().find(|key| FIXED.contains(&key.as_str())) {
        Some(fixed) => bail!("{at}: `{fixed}` cannot change inside an experiment"),
        None => Ok(()),
    }
}

/// The tables of a list of them.
fn entries<T: serde::de::DeserializeOwned>(table: &mut Table, key: &str) -> Result<Vec<T>> {
    let entries = match table.remove(key) {
        None => Vec::new(),
        Some(Value::Array(entries)) if entries.iter().all(Value::is_table) => entries,
        Some(other) => bail!("{key}: found {other}, expected tables [[{key}]]"),
    };
    let read = |entry| {
        T::deserialize(entry)
            .map_err(|error: toml::de::Error| anyhow::anyhow!("[[{key}]]: {}", error.message()))
    };
    entries.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Table {
        toml::from_str(text).expect("test TOML parses")
    }

    fn arms(text: &str) -> Result<Vec<Arm>> {
        take_arms(&mut parse(text), "table-2")
    }

    fn names(arms: &[Arm]) -> Vec<&str> {
        arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    #[test]
    fn an_experiment_without_arms_is_one() {
        assert_eq!(names(&arms("a = 1").expect("arms")), ["table-2"]);
    }

    #[test]
    fn each_makes_an_arm_for_every_combination_with_the_values_in_its_name() {
        let text = "[[arm]]\nname = 'k{a.k}-lr{a.lr}'\neach = { 'a.k' = [1, 2], 'a.lr' = [5e-3, 1e-5] }\na = { kind = 'x' }";
        let arms = arms(text).expect("arms");
        assert_eq!(
            names(&arms),
            ["k1-lr5e-3", "k1-lr1e-5", "k2-lr5e-3", "k2-lr1e-5"]
        );
        assert_eq!(
            arms[1].settings,
            parse("a = { kind = 'x', k = 1, lr = 1e-5 }")
        );
    }

    #[test]
    fn a_profile_chooses_arms_and_changes_them() {
        let arms =
            arms("[[arm]]\nname = 'a'\nuse = 's'\n[[arm]]\nname = 'b'\nn = 1").expect("arms");
        let settings = parse("[s]\nm = 1");
        let mut profile = parse("arms = ['b']\narm.b.n = 2\nx = 1");
        let chosen = of_profile(&arms, &mut profile, &settings).expect("arms");
        assert_eq!((names(&chosen), profile), (vec!["b"], parse("x = 1")));
        assert_eq!(chosen[0].settings, parse("n = 2"));
        let all = of_profile(&arms, &mut Table::new(), &settings).expect("arms");
        assert_eq!(all[0].settings, parse("m = 1"));
        for (wrong, expected) in [
            (
                "arms = ['c']",
                "arms: unknown arm `c`; did you mean `a`? there are: a, b",
            ),
            ("arm.c.n = 2", "arm: unknown arm `c`"),
        ] {
            let error = of_profile(&arms, &mut parse(wrong), &settings).expect_err(wrong);
            let expected = expected.split(';').next().expect("a beginning");
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    #[test]
    fn what_is_out_of_place_is_named() {
        for (text, expected) in [
            (
                "[[arm]]\nname = 'a'\nkind = 'k'",
                "[[arm]] `a`: `kind` cannot change inside an experiment",
            ),
            ("[[arm]]\nn = 1", "[[arm]]: missing field `name`"),
            (
                "[[arm]]\nname = 'Last 2'",
                "[[arm]] `Last 2`: expected a name in kebab-case",
            ),
            (
                "[[arm]]\nname = 'a'\n[[arm]]\nname = 'a'",
                "[[arm]] `a`: two arms have this name",
            ),
            (
                "[[arm]]\nname = 'a'\neach = { n = [1, 2] }",
                "[[arm]] `a`: each: the name lacks {n}",
            ),
            ("arm = 1", "arm: found 1, expected tables [[arm]]"),
        ] {
            let error = format!("{:#}", arms(text).expect_err(text));
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        for (text, expected) in [
            (
                "[[override]]\ndatasets = ['x']\npaper = 'p'",
                "[[override]]: `paper` cannot change inside an experiment",
            ),
            (
                "[[override]]\nepochs = 1",
                "[[override]]: missing field `datasets`",
            ),
            (
                "[[override]]\ndatasets = ['x']",
                "[[override]]: found nothing to change",
            ),
        ] {
            let error = take_overrides(&mut parse(text))
                .expect_err(text)
                .to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}

//! Merging of the tables of an experiment, and expansion of presets and named settings.

use anyhow::{Result, bail, ensure};
use toml::{Table, Value};

use crate::settings::suggest;

/// Keys that make a table a whole value instead of a change of the one below it.
const WHOLE: [&str; 2] = ["kind", "preset"];
/// The key that names a preset, in a table or as the table.
const PRESET: &str = "preset";
/// The key that names settings to be laid under the keys next to it.
pub(crate) const USE: &str = "use";
/// Maximum depth of presets that name presets.
const DEPTH: usize = 8;

/// Lays `over` over `under`, key by key.
///
/// A table with a `kind` or a `preset` is a whole value and replaces the one below; one without changes the keys that
/// it names. Everything else replaces. The name of a preset counts as the preset's table.
pub(crate) fn lay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) if !is_whole(&over) => {
                lay(under, over);
            }
            (Some(under @ Value::String(_)), Value::Table(over)) if !is_whole(&over) => {
                let mut table = Table::from_iter([(PRESET.to_string(), under.clone())]);
                lay(&mut table, over);
                *under = Value::Table(table);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

fn is_whole(table: &Table) -> bool {
    WHOLE.iter().any(|key| table.contains_key(*key))
}

/// The table with the settings that its `use` names under its own keys: the later of two names over the earlier.
pub(crate) fn used(table: &Table, settings: &Table) -> Result<Table> {
    used_within(table, settings, DEPTH)
}

fn used_within(table: &Table, settings: &Table, depth: usize) -> Result<Table> {
    let mut own = table.clone();
    let names = match own.remove(USE) {
        None => Vec::new(),
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names
            .into_iter()
            .map(|name| match name {
                Value::String(name) => Ok(name),
                other => bail!("use: found {other}, expected names of [settings.<name>]"),
            })
            .collect::<Result<_>>()?,
        Some(other) => bail!("use: found {other}, expected names of [settings.<name>]"),
    };
    ensure!(depth > 0, "use: found settings that use themselves");
    let mut all = Table::new();
    for name in names {
        let Some(Value::Table(found)) = settings.get(&name) else {
            let known: Vec<&str> = settings.keys().map(String::as_str).collect();
            bail!("use: {}", suggest::unknown("settings", &name, &known));
        };
        lay(&mut all, used_within(found, settings, depth - 1)?);
    }
    lay(&mut all, own);
    // A table inside may use settings too, such as the training of a probe.
    for value in all.iter_mut().filter_map(|(_, value)| value.as_table_mut()) {
        if value.contains_key(USE) {
            *value = used_within(value, settings, depth - 1)?;
        }
    }
    Ok(all)
}

/// Expands presets in place: `optimizer = "adam-w"` becomes the table `[presets.optimizer.adam-w]`, and `{ preset =
/// "adam-w", epsilon = 1e-6 }` that table with another epsilon.
///
/// Only keys that have presets are looked at, on every level, so that other strings are left unchanged.
pub(crate) fn resolve(table: &mut Table, presets: &Table) -> Result<()> {
    for (key, value) in table.iter_mut() {
        if let Some(Value::Table(named)) = presets.get(key) {
            for _ in 0..DEPTH {
                let Some(name) = preset_of(value) else { break };
                let Some(Value::Table(found)) = named.get(&name) else {
                    let known: Vec<&str> = named.keys().map(String::as_str).collect();
                    bail!("{key}: {}", suggest::unknown("preset", &name, &known));
                };
                let mut whole = found.clone();
                if let Value::Table(own) = value {
                    own.remove(PRESET);
                    lay(&mut whole, own.clone());
                }
                *value = Value::Table(whole);
            }
        }
        let tables: Vec<&mut Table> = match value {
            Value::Table(table) => vec![table],
            Value::Array(items) => items.iter_mut().filter_map(Value::as_table_mut).collect(),
            _ => Vec::new(),
        };
        for table in tables {
            resolve(table, presets)?;
        }
    }
    Ok(())
}

fn preset_of(value: &Value) -> Option<String> {
    let name = match value {
        Value::Table(table) => table.get(PRESET)?,
        name => name,
    };
    name.as_str().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Table {
        toml::from_str(text).expect("test TOML parses")
    }

    #[track_caller]
    fn check(under: &str, over: &str, expected: &str) {
        let mut table = parse(under);
        lay(&mut table, parse(over));
        assert_eq!(table, parse(expected));
    }

    #[test]
    fn a_table_without_a_kind_changes_the_keys_it_names() {
        check(
            "a = 1\nt = { kind = 'x', n = 1, m = { p = 1, q = 2 } }",
            "t = { n = 2, m = { q = 3 } }",
            "a = 1\nt = { kind = 'x', n = 2, m = { p = 1, q = 3 } }",
        );
    }

    #[test]
    fn a_table_with_a_kind_or_a_preset_replaces() {
        let under = "t = { kind = 'x', n = 1 }\nl = [1, 2]";
        check(
            under,
            "t = { kind = 'x' }\nl = [3]",
            "t = { kind = 'x' }\nl = [3]",
        );
        check(
            under,
            "t = { preset = 'y' }",
            "t = { preset = 'y' }\nl = [1, 2]",
        );
        check(under, "t = 'y'", "t = 'y'\nl = [1, 2]");
    }

    #[test]
    fn the_name_of_a_preset_can_be_changed_like_its_table() {
        check("t = 'x'", "t = { n = 2 }", "t = { preset = 'x', n = 2 }");
        let presets = parse("[t.x]\nkind = 'k'\nn = 1\nm = 1\n[t.y]\npreset = 'x'\nm = 5");
        for (written, expected) in [
            (
                "t = 'x'\nname = 'x'",
                "t = { kind = 'k', n = 1, m = 1 }\nname = 'x'",
            ),
            (
                "t = { preset = 'x', n = 2 }",
                "t = { kind = 'k', n = 2, m = 1 }",
            ),
            ("t = 'y'", "t = { kind = 'k', n = 1, m = 5 }"),
            (
                "a = { t = 'x' }",
                "a = { t = { kind = 'k', n = 1, m = 1 } }",
            ),
            ("t = ['x']", "t = ['x']"),
            ("t = { kind = 'z' }", "t = { kind = 'z' }"),
        ] {
            let mut table = parse(written);
            resolve(&mut table, &presets).expect(written);
            assert_eq!(table, parse(expected), "{written}");
        }
        let error = resolve(&mut parse("t = 'z'"), &presets).expect_err("unknown");
        assert_eq!(error.to_string(), "t: unknown preset `z`; there are: x, y");
    }

    #[test]
    fn used_settings_lie_under_the_keys_next_to_them() {
        let settings = parse(
            "[a]\nn = 1\nt = { kind = 'k', p = 1 }\n[b]\nn = 2\n[c]\nuse = ['a', 'b']\nm = 3",
        );
        for (written, expected) in [
            ("use = ['a', 'b']", "n = 2\nt = { kind = 'k', p = 1 }"),
            (
                "use = ['b', 'a']\nt = { p = 2 }",
                "n = 1\nt = { kind = 'k', p = 2 }",
            ),
            (
                "use = 'c'\nn = 4",
                "n = 4\nm = 3\nt = { kind = 'k', p = 1 }",
            ),
            ("n = 5", "n = 5"),
        ] {
            assert_eq!(
                used(&parse(written), &settings).expect(written),
                parse(expected),
                "{written}"
            );
        }
        let error = used(&parse("use = 'd'"), &settings).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "use: unknown settings `d`; there are: a, b, c"
        );
        let circle = parse("[a]\nuse = 'b'\n[b]\nuse = 'a'");
        assert!(used(&parse("use = 'a'"), &circle).is_err());
    }
}

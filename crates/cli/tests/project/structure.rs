//! No circle of files: the files that a file uses do not use it in turn, except between a module and those below it. And no
//! example in a comment, and no file of tests, that nobody compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The path of a module in its crate, such as `["spec", "schema"]`; empty for `lib.rs`.
type Module = Vec<String>;

/// The source files below `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The code of each module below `folder`, without comments and tests.
fn modules(folder: &Path) -> BTreeMap<Module, String> {
    let mut files = Vec::new();
    sources(folder, &mut files);
    files.retain(|path| !path.ends_with("tests.rs"));
    let of = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("source code");
        let text = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        let code = text.lines().filter_map(|line| line.split("//").next());
        let below = path
            .strip_prefix(folder)
            .expect("a file below")
            .with_extension("");
        let names = below.iter().map(|name| name.to_string_lossy().into_owned());
        let module = names.filter(|name| !["lib", "main", "mod"].contains(&name.as_str()));
        (module.collect(), code.collect::<Vec<_>>().join("\n"))
    };
    files.iter().map(of).collect()
}

/// The paths that the tree of a `use` names.
fn leaves(prefix: &str, tree: &str) -> Vec<String> {
    let Some((head, body)) = tree.trim().split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![format!("{prefix}{}", path.trim())];
    };
    let (prefix, mut depth) = (format!("{prefix}{head}"), 0);
    let body = body.strip_suffix('}').unwrap_or(body);
    let parts = body.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.flat_map(|part| leaves(&prefix, part)).collect()
}

/// The module that `path`, written in `module`, leads to; through re-exported names, where there are some.
fn target(path: &str, module: &Module, known: impl Fn(&Module, &str) -> Option<Module>) -> Module {
    let mut at = module.clone();
    for name in path.split("::") {
        match name {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            name => match known(&at, name) {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    at
}

/// The other modules that each one uses, except for those above and below it.
fn edges<'a>(code: &'a BTreeMap<Module, String>) -> BTreeMap<&'a Module, BTreeSet<Module>> {
    let uses = Regex::new(r"(pub(?:\([^)]*\))? )?use ([^;]*);").expect("a pattern");
    let inline = Regex::new(r"\b(?:crate|super)(?:::\w+)+").expect("a pattern");
    let below = |at: &Module, name: &str| {
        let inner = [&at[..], &[name.to_owned()]].concat();
        code.contains_key(&inner).then_some(inner)
    };
    let defined =
        Regex::new(r"pub (?:struct|enum|trait|type|const|fn|static) (\w+)").expect("a pattern");
    let mut passed_on = BTreeMap::new();
    let mut globs = Vec::new();
    for (module, text) in code {
        for found in uses
            .captures_iter(text)
            .filter(|found| found.get(1).is_some())
        {
            for path in leaves("", &found[2]) {
                let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                let from = target(&path, module, below);
                if name == "*" {
                    globs.push((module, from))
                } else {
                    drop(passed_on.insert((module.clone(), name), from))
                }
            }
        }
    }
    // A glob passes on what the module defines, and what it passes on itself.
    for (module, from) in globs {
        let own = code.get(&from).map_or("", String::as_str);
        let own = defined
            .captures_iter(own)
            .map(|name| (name[1].to_owned(), from.clone()));
        let through = passed_on.iter().filter(|((at, _), _)| *at == from);
        let through = through.map(|((_, name), to)| (name.clone(), to.clone()));
        let names: Vec<(String, Module)> = own.chain(through).collect();
        passed_on.extend(
            names
                .into_iter()
                .map(|(name, to)| ((module.clone(), name), to)),
        );
    }
    let known = |at: &Module, name: &str| {
        let other = || passed_on.get(&(at.clone(), name.to_owned())).cloned();
        below(at, name).or_else(other)
    };
    let used = |(module, text): (&'a Module, &'a String)| {
        let trees = uses
            .captures_iter(text)
            .flat_map(|found| leaves("", &found[2]));
        let inner = inline
            .find_iter(text)
            .map(|found| found.as_str().to_owned());
        let paths = trees.filter(|path| path.starts_with("crate::") || path.starts_with("super::"));
        let targets = paths.chain(inner).map(|path| target(&path, module, known));
        let aside = |other: &Module| !other.starts_with(module) && !module.starts_with(other);
        (module, targets.filter(aside).collect())
    };
    code.iter().map(used).collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    for entry in fs::read_dir(crates).expect("the crates") {
        let folder = entry.expect("a crate").path();
        let code = modules(&folder.join("src"));
        let edges = edges(&code);
        for module in code.keys() {
            let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
            while let Some(next) = open.pop() {
                open.extend(edges[next].iter().filter(|other| reached.insert(*other)));
            }
            if reached.contains(module) {
                let name = folder.file_name().unwrap_or_default();
                circles.push(format!("{}: {}", name.display(), module.join("/")));
            }
        }
    }
    assert_eq!(circles, [""; 0], "modules that use each other");
}

#[test]
fn crates_without_doc_tests_have_no_examples_in_comments() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut without = 0;
    for entry in fs::read_dir(crates).expect("the crates") {
        let folder = entry.expect("an entry").path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if !manifest.contains("\ndoctest = false\n") {
            continue;
        }
        without += 1;
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("source code");
            let mut lines = text.lines().map(str::trim_start);
            let example =
                lines.any(|line| line.starts_with("/// ```") || line.starts_with("//! ```"));
            assert!(
                !example,
                "{}: an example, but `doctest = false`",
                file.display()
            );
        }
    }
    assert!(without > 0);
}

#[test]
fn every_file_of_tests_is_a_module_of_its_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut checked = 0;
    for entry in fs::read_dir(crates).expect("the crates") {
        let tests = entry.expect("a crate").path().join("tests");
        if !tests.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        sources(&tests, &mut files);
        for file in files.iter().filter(|file| file.parent() != Some(&tests)) {
            let (folder, name) = (
                file.parent().expect("below"),
                file.file_stem().expect("a name"),
            );
            // A `main.rs` is found by cargo, a `mod.rs` by what is above it.
            let (folder, name) = match name.to_str() {
                Some("main") => continue,
                Some("mod") => (
                    folder.parent().expect("below"),
                    folder.file_name().expect("a name"),
                ),
                _ => (folder, name),
            };
            let [main, module] =
                ["main.rs", "mod.rs"].map(|above| fs::read_to_string(folder.join(above)));
            let above = main.or(module).expect("what has the file as a module");
            let line = format!("mod {};", name.display());
            assert!(
                above.lines().any(|each| each.ends_with(&line)),
                "{}: no `{line}` above it",
                file.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} files");
}

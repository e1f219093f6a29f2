//! The scripts of the set-up, in a copy of them, with a cargo and a pip that only note that they were called.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A checkout with nothing but its scripts, and folders that look like a libtorch.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().expect("a folder"));
        for folder in ["root/setup", "root/target", "bin", "elsewhere"] {
            fs::create_dir_all(checkout.path(folder)).expect("a folder");
        }
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for entry in fs::read_dir(original.join("setup")).expect("the scripts") {
            let entry = entry.expect("a script");
            let copy = checkout.path("root/setup").join(entry.file_name());
            fs::copy(entry.path(), copy).expect("copied");
        }
        for file in ["justfile", "justw"] {
            fs::copy(original.join(file), checkout.path("root").join(file)).expect("copied");
        }
        checkout.program("cargo", "echo cargo \"$@\" >>\"$LOG\"");
        checkout.program("python3", "exit 1");
        checkout
    }

    fn path(&self, part: &str) -> PathBuf {
        self.0.path().join(part)
    }

    /// Puts a shell script into the folder that is searched first.
    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// Makes a folder look like a libtorch of this release, as `pip install` would.
    fn libtorch(&self, folder: &str, release: &str) -> PathBuf {
        let folder = self.path(folder);
        fs::create_dir_all(folder.join("lib")).expect("a folder");
        fs::create_dir_all(folder.join("include")).expect("a folder");
        fs::write(folder.join("lib/libtorch_cpu.so"), "").expect("written");
        let version = format!("__version__ = '{release}'\n");
        fs::write(folder.join("version.py"), version).expect("written");
        folder
    }

    /// Runs a script of the checkout in the folder `elsewhere`.
    fn run(&self, script: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(self.path(script));
        for name in ["LIBTORCH", "TOTUNE_LIBTORCH", "CARGO_TARGET_DIR", "CXX"] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.path("elsewhere"))
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("LOG", self.path("log"))
            .envs(variables.iter().copied())
            .process_group(0);
        command.output().expect("the script starts")
    }

    /// Sets libtorch up; returns how often cargo was told to forget what it had compiled.
    fn set_up(&self, variables: &[(&str, &str)]) -> usize {
        fs::write(self.path("log"), "").expect("written");
        let output = self.run("root/setup/libtorch", &["tch"], variables);
        assert!(output.status.success(), "{}", errors(&output));
        let log = fs::read_to_string(self.path("log")).expect("a log");
        log.matches("cargo clean").count()
    }

    fn installed(&self) -> String {
        let noted = fs::read_to_string(self.path("root/.tools/libtorch/installed"));
        noted.expect("a note").trim().to_string()
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn another_release_in_a_linked_libtorch_is_noticed() {
    let checkout = Checkout::new();
    let linked = checkout.libtorch("a venv/torch", "2.11.0+cu130");
    let linked = linked.to_str().expect("a path");
    assert!(checkout.set_up(&[("LIBTORCH", linked)]) > 0);
    assert_eq!(checkout.set_up(&[]), 0);
    checkout.libtorch("a venv/torch", "2.12.0");
    assert!(checkout.set_up(&[]) > 0);
    assert_eq!(checkout.installed(), format!("linked {linked} 2.12.0"));
    assert_eq!(checkout.set_up(&[("LIBTORCH", linked)]), 0);
}

#[test]
fn a_link_without_a_noted_release_serves_while_it_is_the_wanted_one() {
    let checkout = Checkout::new();
    let linked = checkout.libtorch("torch", "2.11.0");
    let linked = linked.to_str().expect("a path");
    checkout.set_up(&[("LIBTORCH", linked)]);
    let older = format!("linked {linked}\n");
    fs::write(checkout.path("root/.tools/libtorch/installed"), older).expect("written");
    assert_eq!(checkout.set_up(&[]), 0);
    checkout.libtorch("torch", "2.10.0");
    assert!(checkout.set_up(&[]) > 0);
}

#[test]
fn a_switch_that_is_interrupted_is_made_again_with_all_of_it() {
    let checkout = Checkout::new();
    let (first, second) = (
        checkout.libtorch("first", "2.11.0"),
        checkout.libtorch("second", "2.11.0"),
    );
    let (first, second) = (
        first.to_str().expect("a path"),
        second.to_str().expect("a path"),
    );
    checkout.set_up(&[("LIBTORCH", first)]);
    // As Ctrl-C, which reaches all processes of the command.
    checkout.program("cargo", "kill -INT 0; sleep 5");
    let output = checkout.run("root/setup/libtorch", &["tch"], &[("LIBTORCH", second)]);
    assert!(!output.status.success());
    checkout.program("cargo", "echo cargo \"$@\" >>\"$LOG\"");
    assert!(checkout.set_up(&[("LIBTORCH", second)]) > 0);
    assert_eq!(checkout.installed(), format!("linked {second} 2.11.0"));
}

#[cfg(target_arch = "x86_64")] // elsewhere a check before it fails
#[test]
fn a_compiler_may_have_arguments() {
    let checkout = Checkout::new();
    let output = |compiler: &str| {
        let variables = [("TOTUNE_LIBTORCH", "cpu"), ("CXX", compiler)];
        errors(&checkout.run("root/setup/libtorch", &["tch"], &variables))
    };
    assert!(!output("sh g++").contains("there is no C++ compiler"));
    assert!(output("no-such-ccache g++").contains("there is no C++ compiler"));
}

/// A program that answers as totune does when a bundle is made with the encoder `mine`.
const PROGRAM: &str = r#"case "$*" in
--version) echo totune 0.1.0 ;;
*"encoders convert mine"*) mkdir -p "$7" && echo rounded >"$7/model.safetensors" ;;
*"encoders check mine"*) grep -q f16 "$2/encoders/mine.toml" ;;
esac"#;

#[test]
fn a_card_of_rounded_weights_has_no_downloads_of_the_original_ones() {
    let checkout = Checkout::new();
    for part in ["encoders", "experiments", "bench", ".tools/libtorch"] {
        fs::create_dir_all(checkout.path("root").join(part)).expect("a folder");
    }
    for part in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::write(checkout.path("root").join(part), "").expect("written");
    }
    let card = "name = \"mine\"\ntitle = \"Mine\"\nfolders = [\"mine\"]\nsha256 = { safetensors = \"0\" }\n\n\
                [[fetch]]\nkind = \"url\"\nfiles = [\n  { path = \"a\" },\n]\n\n[fetch.unpack]\nformat = \"zip\"\n\n\
                [architecture]\nkind = \"bert\"\n";
    fs::write(checkout.path("root/encoders/mine.toml"), card).expect("written");
    checkout.program("totune", PROGRAM);
    checkout.program("objdump", "echo '  NEEDED libtorch_cpu.so'");
    checkout.program("strip", "cp \"$3\" \"$2\"");
    checkout.program("python3", "exit 0");
    let program = checkout.path("bin/totune").display().to_string();
    let arguments = [
        "cpu",
        "--encoder",
        "mine",
        "--to",
        "one.tar",
        "--binary",
        &program,
    ];
    let output = checkout.run("root/setup/bundle", &arguments, &[]);
    assert!(output.status.success(), "{}", errors(&output));
    let member = "totune-0.1.0-cpu/project/encoders/mine.toml";
    let card = Command::new("tar")
        .args(["-xOf", "one.tar", member])
        .current_dir(checkout.path("elsewhere"))
        .output()
        .expect("tar starts");
    let card = String::from_utf8_lossy(&card.stdout).into_owned();
    let (before, after) = card.split_once("safetensors = \"").expect("a hash");
    assert_eq!(
        before,
        "name = \"mine\"\ntitle = \"Mine, weights in f16\"\nfolders = [\"mine-f16\"]\nsha256 = { "
    );
    assert_eq!(&after[64..], "\" }\n\n[architecture]\nkind = \"bert\"\n");
}

/// A checkout whose cargo runs a program that prints where it runs, and with what.
fn with_a_program() -> Checkout {
    let checkout = Checkout::new();
    checkout.program("totune", "pwd; printf '%s\\n' \"$@\"");
    fs::rename(
        checkout.path("bin/totune"),
        checkout.path("root/target/totune"),
    )
    .expect("moved");
    let cargo = "[ \"$1\" = run ] || exit 0\nuntil [ \"$1\" = -- ]; do shift; done\n\
                 shift && exec setup/here target/totune \"$@\"";
    checkout.program("cargo", cargo);
    checkout
}

#[test]
fn the_program_runs_where_it_is_called_with_the_project_of_the_checkout() {
    let checkout = with_a_program();
    let root = checkout.path("root").canonicalize().expect("a folder");
    let check = |here: &str, arguments: &[&str], expected: &[&str]| {
        let here = checkout.path(here).canonicalize().expect("a folder");
        let mut command = Command::new(root.join("setup/here"));
        command.arg("target/totune").args(arguments);
        let output = command
            .current_dir(&root)
            .env("TOTUNE_HERE", &here)
            .output();
        let output = output.expect("the script starts");
        let lines = [&[here.to_str().expect("a path")], expected].concat();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.lines().collect::<Vec<_>>(), lines, "{arguments:?}");
    };
    let project = root.to_str().expect("a path");
    let compare = ["compare", "my reviews.csv"];
    check("root", &compare, &compare);
    check("root/setup", &compare, &compare);
    check(
        "elsewhere",
        &compare,
        &["--project", project, "compare", "my reviews.csv"],
    );
    check(
        "elsewhere",
        &["list", "--project=."],
        &["list", "--project=."],
    );
}

#[test]
fn justw_may_be_a_link_and_recipes_take_paths_of_the_folder_they_are_called_in() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/just");
    let just = if own.is_file() { own } else { "just".into() };
    if Command::new(&just).arg("--version").output().is_err() {
        let _ = writeln!(io::stderr(), "the recipes were skipped: there is no just");
        return;
    }
    let checkout = with_a_program();
    fs::create_dir(checkout.path("root/.tools")).expect("a folder");
    let start = format!("#!/bin/sh\nexec '{}' \"$@\"\n", just.display());
    fs::write(checkout.path("root/.tools/just"), start).expect("written");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(checkout.path("root/.tools/just"), executable).expect("a program");
    symlink("../root/justw", checkout.path("elsewhere/link")).expect("linked");
    let variables = [("TOTUNE_FEATURES", "")];
    let arguments = ["totune", "compare", "it's mine.csv"];
    let output = checkout.run("elsewhere/link", &arguments, &variables);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let here = checkout.path("elsewhere").canonicalize().expect("a folder");
    assert_eq!(said.lines().next(), here.to_str(), "{}", errors(&output));
    assert_eq!(said.lines().last(), Some("it's mine.csv"));
    let arguments = ["bundle", "cpu", "--binary", "here"];
    fs::write(checkout.path("elsewhere/here"), "").expect("written");
    let output = checkout.run("elsewhere/link", &arguments, &variables);
    let said = errors(&output);
    assert!(
        said.contains("found a program that is linked to no libtorch"),
        "{said}"
    );
}

//! `setup/bundle`: the program, an encoder and data in one archive, which runs where there is neither network nor
//! checkout, on the LibTorch of a PyTorch of the right release and on no other.

#![cfg(all(feature = "tch", target_os = "linux"))]

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Makes the namespace: no network, no checkout; LibTorch where a Python would have PyTorch. Then runs the rest.
const SANDBOX: &str = r#"mount --bind "$1/.tools/libtorch" "$2/site" && mount -t tmpfs none "$1" && shift 2 && exec "$@""#;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the checkout")
}

/// The part of LibTorch that the tests are linked to.
fn part() -> &'static str {
    let cuda = ".tools/libtorch/torch/lib/libtorch_cuda.so";
    if root().join(cuda).exists() {
        "cuda"
    } else {
        "cpu"
    }
}

/// A folder with data of the user's, archives, and a bundle that was unpacked.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        for folder in ["data/glue/RTE", "fake/lib", "site", "elsewhere", "home"] {
            fs::create_dir_all(place.path(folder)).expect("a folder");
        }
        for file in ["data/glue/RTE/train.tsv", "data/glue/RTE/dev.tsv"] {
            fs::write(place.path(file), "no rows\n").expect("written");
        }
        fs::write(place.path("fake/lib/libtorch_cpu.so"), "").expect("written");
        fs::write(
            place.path("fake/version.py"),
            "__version__ = '2.9.0+cu128'\n",
        )
        .expect("written");
        place
    }

    fn path(&self, part: &str) -> PathBuf {
        self.0.path().join(part)
    }

    fn bundle(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(root().join("setup/bundle"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("TOTUNE_DATA", self.path("data"))
            .env("TOTUNE_ENCODERS", self.path("none"));
        command.output().expect("setup/bundle starts")
    }

    /// Makes the archive `name` and returns its bytes.
    fn archive(&self, name: &str, more: &[&str]) -> Vec<u8> {
        let program = ["--binary", env!("CARGO_BIN_EXE_totune"), "--to", name];
        let output = self.bundle(&[&[part()], &program[..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).trim(), name);
        fs::read(self.path(name)).expect("an archive")
    }

    /// Unpacks an archive and returns its script.
    fn unpack(&self, name: &str) -> PathBuf {
        let tar = Command::new("tar")
            .arg("xf")
            .arg(name)
            .current_dir(self.0.path())
            .status();
        assert!(tar.expect("tar starts").success());
        let folder = format!("totune-{}-{}", env!("CARGO_PKG_VERSION"), part());
        self.path(&folder).join("run")
    }

    /// A command that sees neither the network nor the checkout.
    fn sandbox(&self) -> Command {
        let mut command = Command::new("unshare");
        command.args(["-rnm", "sh", "-c", SANDBOX, "sh"]);
        command
            .arg(root())
            .arg(self.0.path())
            .current_dir(self.path("elsewhere"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("OMP_NUM_THREADS", "1")
            .env("OMP_WAIT_POLICY", "passive");
        command
    }
}

/// The reason why there is no namespace without network, where the system refuses it.
///
/// # Panics
/// Where root is refused on a machine of continuous integration, which would pass without the test.
fn refused() -> Option<String> {
    let output = Command::new("unshare").args(["-rnm", "true"]).output();
    let reason = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => text(&output.stderr).trim().to_string(),
        Err(error) => format!("unshare: {error}"),
    };
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let ci = std::env::var_os("CI").is_some();
    assert!(!(ci && is_root), "{reason}; expected a namespace, as root");
    Some(reason)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bundle_runs_without_network_and_checkout() {
    let place = Place::new();
    let options = "--encoder totune-elmo-mini --data rte --results hart2020/small";
    place.archive("one.tar", &options.split(' ').collect::<Vec<_>>());
    let run = place.unpack("one.tar");
    let bundle = run.parent().expect("a folder");
    let mut sums = Command::new("sha256sum");
    sums.args(["--check", "--quiet", "MANIFEST"])
        .current_dir(bundle);
    let sums = sums.status();
    assert!(sums.expect("sha256sum starts").success());
    let manifest = fs::read_to_string(bundle.join("MANIFEST")).expect("MANIFEST");
    for line in [
        "# libtorch: 2.11.0",
        "# commit: ",
        "# tree: ",
        "  bin/totune",
    ] {
        assert!(manifest.contains(line), "{line}: {manifest}");
    }

    let torch = place.path("site/torch").display().to_string();
    let succeed = |arguments: &[&str]| {
        let mut command = place.sandbox();
        command.arg(&run).args(arguments);
        command.env("PYTHONPATH", place.path("site"));
        let output = command.output().expect("unshare starts");
        let said = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        text(&output.stdout)
    };
    if let Some(reason) = refused() {
        // Not by a macro, whose words are shown only where a test fails.
        let _ = writeln!(io::stderr(), "running the bundle was skipped: {reason}");
        return;
    }
    let doctor = succeed(&["doctor"]);
    assert!(doctor.contains(&torch), "{doctor}");
    let contains = |line: &str, expected: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let out = succeed(&words);
        assert!(out.contains(expected), "{line}: {out}");
    };
    contains("encoders check totune-elmo-mini", "agrees");
    contains("data list rte --json", "\"found\": true");
    // The sweep of the checkout goes on where it was collected.
    contains("--quiet sweep restore hart2020 small", "");
    contains("sweep plan hart2020 small", "0 would run");
    // Two runs of the grid, which train an encoder.
    let grid = "--threads 1 sweep run hart2020 fixture --experiment table-2 --shard 1/15";
    contains(grid, "");
    assert!(bundle.join("project/runs").is_dir());
    // Paths are those of the current folder.
    let reviews = "text,label\ngood,yes\nbad,no\n";
    fs::write(place.path("elsewhere/reviews.csv"), reviews).expect("written");
    contains("data new reviews.csv", "");
    assert!(place.path("elsewhere/reviews.toml").is_file());
}

#[test]
fn the_same_inputs_give_the_same_bytes_and_another_pytorch_is_refused() {
    let place = Place::new();
    let archive = place.archive("one.tar", &[]);
    assert!(archive == place.archive("two.tar", &[]), "other bytes");
    let run = place.unpack("one.tar");
    let check = |variable: &str, value: &Path, expected: &str| {
        let mut command = Command::new(&run);
        command.arg("doctor").env_remove("LIBTORCH");
        command.env(variable, value);
        let output = command.output().expect("the script starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    let fake = place.path("fake");
    check(
        "LIBTORCH",
        &fake,
        "found version 2.9.0+cu128, expected 2.11.0",
    );
    fs::create_dir(place.path("packages")).expect("a folder");
    fs::rename(&fake, place.path("packages/torch")).expect("moved");
    check(
        "PYTHONPATH",
        &place.path("packages"),
        "found version 2.9.0+cu128, expected 2.11.0",
    );
    check("LIBTORCH", &place.path("home"), "no lib/libtorch_cpu.so");
    check(
        "TOTUNE_PYTHON",
        &place.path("python"),
        "expected a Python with PyTorch 2.11.0",
    );
}

#[test]
fn wrong_arguments_are_named_and_leave_no_archive() {
    let place = Place::new();
    let other = if part() == "cpu" { "cuda" } else { "cpu" };
    let program = ["--binary", env!("CARGO_BIN_EXE_totune"), "--to", "one.tar"];
    let with = |part: &'static str, more: &[&'static str]| [&[part], &program[..], more].concat();
    for (arguments, expected) in [
        (vec![], "expected cpu or cuda"),
        (vec!["gpu"], "found `gpu`; expected cpu or cuda"),
        (
            vec!["cpu", "--dataset", "rte"],
            "found `--dataset`; expected an option",
        ),
        (vec!["cpu", "--data"], "--data: nothing follows"),
        (
            vec!["cpu", "--data", "rtee"],
            "found `rtee`, which has no card datasets/rtee.toml",
        ),
        (
            vec!["cpu", "--encoder", "../mine"],
            "found `../mine`; expected the name of a card",
        ),
        (
            vec!["cpu", "--exact", "bert"],
            "--exact: found `bert`, which has no card encoders/bert.toml",
        ),
        (
            vec!["cpu", "--results", "hart2020"],
            "--results: there is no results/hart2020/runs.parquet",
        ),
        (
            with(part(), &["--exact", "bert-base-uncased"]),
            "--exact: the weights of `bert-base-uncased` are not on this machine",
        ),
        (
            vec!["cpu", "--encoder", "minilm", "--exact", "minilm"],
            "found --encoder minilm and --exact minilm; expected one of them",
        ),
        (
            vec!["cpu", "--to", "one.zip"],
            "found `one.zip`; expected a name that ends in",
        ),
        (
            vec!["cpu", "--to", "nowhere/one.tar"],
            "there is no folder nowhere",
        ),
        (with(other, &[]), "; expected libtorch for"),
        (
            with(part(), &["--data", "sst-2"]),
            "no file of `sst-2` below",
        ),
        (
            with(part(), &["--encoder", "bert-base-uncased"]),
            "encoder `bert-base-uncased`",
        ),
    ] {
        let output = place.bundle(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        let names = fs::read_dir(place.0.path()).expect("a folder");
        let left = names.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file()));
        assert_eq!(left.count(), 0, "{arguments:?}");
    }
}

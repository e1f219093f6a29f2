//! Requests in the scripts of a submission, and the jobs that are left where SLURM refuses one. `cluster.rs` has the rest.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use crate::cluster::{SUBMIT, script, with_commands};
use crate::support::Checkout;

/// The scripts of a dry run: of the runs, and of the job that collects.
#[track_caller]
fn scripts(checkout: &Checkout, options: &[&str]) -> [String; 2] {
    let paths = checkout.succeed(&[&SUBMIT[..], &["--dry-run"], options].concat());
    let scripts: Vec<String> = paths.lines().map(script).collect();
    scripts.try_into().expect("no search, so two scripts")
}

#[test]
fn a_part_of_a_grid_is_collected_only_where_that_is_asked_for() {
    let checkout = Checkout::new();
    for (options, ends) in [
        (vec![], " collect trial fixture\n"),
        (vec!["--retry-failed"], " collect trial fixture\n"),
        (vec!["--partial"], " collect trial fixture --partial\n"),
        (
            vec!["--arm", "full", "--partial"],
            " collect trial fixture --partial\n",
        ),
    ] {
        let [_, collect] = scripts(&checkout, &options);
        assert!(collect.contains(ends), "{options:?}: {collect}");
    }
    // It would replace the tables of the whole grid.
    let id = checkout.ids().remove(0);
    for part in [["--experiment", "tune"], ["--arm", "full"], ["--only", &id]] {
        let paths = checkout.succeed(&[&SUBMIT[..], &["--dry-run"], &part].concat());
        let names: Vec<&str> = paths
            .lines()
            .filter_map(|path| path.rsplit('/').next())
            .collect();
        assert_eq!(names, ["runs.sh"], "{part:?}");
    }
}

#[test]
fn the_job_that_collects_asks_for_what_the_workers_have_and_no_longer_than_they() {
    let checkout = Checkout::new();
    let options = [
        "--time", "30", "--cpus", "4", "--memory", "8G", "--gpus", "1",
    ];
    let [_, collect] = scripts(&checkout, &options);
    for expected in ["--time=30\n", "--cpus-per-task=4\n", "--mem=8G\n"] {
        assert!(collect.contains(expected), "{expected}{collect}");
    }
    // It does not listen to signals, so that a warning would end it.
    for unexpected in ["--gres", "--signal"] {
        assert!(!collect.contains(unexpected), "{unexpected}\n{collect}");
    }
    let [_, collect] = scripts(&checkout, &["--time", "1-0"]);
    assert!(collect.contains("--time=1:00:00\n"), "{collect}");
}

#[test]
fn workers_on_the_cpu_ask_for_no_gpu_unless_told() {
    for (device, options, gpus) in [
        ("flex", &[][..], None),
        ("cpu", &[][..], None),
        ("cpu", &["--gpus", "2"][..], Some("--gres=gpu:2\n")),
        ("auto", &[][..], Some("--gres=gpu:1\n")),
    ] {
        let [runs, _] = scripts(&Checkout::new().on(device), options);
        match gpus {
            Some(expected) => assert!(runs.contains(expected), "{device}: {runs}"),
            None => assert!(!runs.contains("--gres"), "{device}: {runs}"),
        }
    }
}

#[test]
fn a_script_has_the_surroundings_of_the_command_that_wrote_it() {
    let checkout = Checkout::new();
    let mut command = checkout.command(&SUBMIT);
    command.args([
        "--dry-run",
        "--setup",
        "module load cuda",
        "--sbatch=--comment=my runs",
    ]);
    command.env("TOTUNE_LEASE", "60").env("HF_TOKEN", "secret");
    let paths = checkout.end(&mut command);
    assert_eq!(paths.code, Some(0), "{}", paths.err);
    for path in paths.out.lines() {
        let text = script(path);
        assert!(text.contains("\n#SBATCH '--comment=my runs'\n"), "{text}");
        assert!(text.contains("\nexport TOTUNE_LEASE=60\n"), "{text}");
        assert!(
            text.contains("\nexport TOTUNE_F32_PRODUCTS=default\n"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        let loads = text.find("\nmodule load cuda\n").expect("the line");
        if cfg!(all(feature = "tch", target_os = "linux")) {
            let exports = text.find("\nexport LD_LIBRARY_PATH=").expect("a line");
            assert!(loads < exports, "{text}");
            check_libraries(&text);
        }
    }
}

/// Checks that the exported path leads to LibTorch first, and then to the folders before.
#[track_caller]
fn check_libraries(text: &str) {
    let lines = text
        .lines()
        .filter(|line| line.starts_with("export LD_LIBRARY_PATH="));
    let line: String = lines.collect();
    for (before, after) in [(None, ""), (Some("/mine"), ":/mine")] {
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{line}; echo \"$LD_LIBRARY_PATH\"")]);
        bash.env_remove("LD_LIBRARY_PATH");
        bash.envs(before.map(|path| ("LD_LIBRARY_PATH", path)));
        let said = String::from_utf8(bash.output().expect("bash starts").stdout);
        let said = said.expect("UTF-8");
        let folder = said.trim_end().strip_suffix(after).expect("what was there");
        let library = format!("{folder}/libtorch_cpu.so");
        assert!(fs::exists(&library).expect("a path"), "{library}");
    }
}

#[test]
fn jobs_that_were_accepted_are_named_where_a_later_one_is_refused() {
    let checkout = Checkout::new();
    let sbatch = "case \"$*\" in *collect.sh) echo 'sbatch: error: Requested time limit is invalid' >&2; exit 1 ;; *) echo 7 ;; esac";
    let log = checkout.path("calls");
    let scancel = format!("echo \"$@\" >> {}", log.display());
    let commands = [
        ("sbatch", sbatch),
        ("squeue", "exit 0"),
        ("scontrol", "exit 1"),
        ("scancel", scancel.as_str()),
    ];
    let said = with_commands(&checkout, &commands, &SUBMIT);
    assert_eq!(said.code, Some(2), "{}", said.err);
    for expected in [
        "jobs 7 were accepted before and go on",
        "`totune sweep cancel trial fixture` ends them",
        "Requested time limit is invalid",
    ] {
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let cancel = ["sweep", "cancel", "trial", "fixture"];
    let said = with_commands(&checkout, &commands, &cancel);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(fs::read_to_string(log).expect("calls"), "7\n");
}

//! Terminals that are closed, and workers that lose the process that started them.

#![cfg(unix)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::checkpoints::{RUN, checkout, checkpoints, end, id, log, signal, wait_for_progress};
use crate::support::{Checkout, DEVICE};

/// Starts a command for which SIGHUP does what `handler` says, whatever it does for the tests.
fn spawn(mut command: Command, handler: libc::sighandler_t) -> Child {
    let set = move || {
        // SAFETY: it may be called between fork and exec, and neither default nor ignoring runs a function.
        match unsafe { libc::signal(libc::SIGHUP, handler) } {
            libc::SIG_ERR => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: as above; it allocates nothing.
    unsafe { command.pre_exec(set) };
    command.spawn().expect("starts")
}

#[test]
fn a_closed_terminal_is_a_request_to_end() {
    let checkout = checkout();
    let id = id(&checkout);
    let child = spawn(checkout.command(&RUN), libc::SIG_DFL);
    wait_for_progress(&checkout, &id, &[]);
    // The shell and the kernel may both send it.
    signal(&child, "-HUP");
    signal(&child, "-HUP");
    let said = end(child);
    assert_eq!(said.code, Some(129), "{}", said.err);
    assert!(log(&checkout, &id).contains("interrupted"));
    assert!(!checkpoints(&checkout, &id).is_empty());
    let said = checkout.run(&RUN);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("resuming after step "), "{}", said.err);
}

#[test]
fn under_nohup_a_run_outlives_its_terminal() {
    let checkout = checkout();
    let id = id(&checkout);
    let child = spawn(checkout.command(&RUN), libc::SIG_IGN);
    wait_for_progress(&checkout, &id, &[]);
    signal(&child, "-HUP");
    let said = end(child);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(!log(&checkout, &id).contains("interrupted"));
}

/// The process that starts a worker, which has begun the only run.
fn parent(checkout: &Checkout, id: &str) -> Child {
    let mut command = checkout.command(&RUN);
    command.args(["--devices", DEVICE]);
    let parent = spawn(command, libc::SIG_DFL);
    wait_for_progress(checkout, id, &[]);
    parent
}

#[test]
fn workers_stop_when_the_terminal_of_their_parent_is_closed() {
    let checkout = checkout();
    let id = id(&checkout);
    let parent = parent(&checkout, &id);
    signal(&parent, "-HUP");
    let said = end(parent);
    assert_eq!(said.code, Some(129), "{}", said.err);
    assert!(log(&checkout, &id).contains("interrupted"));
}

#[cfg(target_os = "linux")]
#[test]
fn workers_stop_when_their_parent_is_killed() {
    let checkout = checkout();
    let id = id(&checkout);
    let mut parent = parent(&checkout, &id);
    parent.kill().expect("killed");
    parent.wait().expect("ended");
    let begun = Instant::now();
    while !log(&checkout, &id).contains("interrupted") {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "a worker goes on"
        );
        sleep(Duration::from_millis(20));
    }
    assert!(!checkpoints(&checkout, &id).is_empty());
}

//! End of a command: exit codes, and errors as text.

use std::io::{Write, stdout};

use totune_record::storage_advice;

/// Everything that was requested is done.
pub const OK: u8 = 0;
/// The command finished, and some of its runs failed.
pub const SOME_FAILED: u8 = 1;
/// The command could not finish: wrong arguments or settings, missing files, results that could not be written.
pub const ERROR: u8 = 2;
/// Ended since its terminal was closed, with work left; the same command resumes. The number is that of a process
/// that SIGHUP itself ends.
pub const HUNG_UP: u8 = 129;
/// Interrupted by Ctrl-C; the same command resumes.
pub const STOPPED: u8 = 130;
/// Ended as a scheduler asked, with work left; the same command resumes. The number is `EX_TEMPFAIL` of `sysexits.h`.
pub const REQUEUE: u8 = 75;

/// The codes, for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    done
  1    done, but some runs failed (their rows say why), or something was found wrong: a card or an
       experiment that cannot be read and is listed, or as the help of `doctor`, `data check`,
       `encoders check` and of both `fetch` commands says
  2    not done: wrong arguments or settings, missing files, results that could not be written
  75   ended by SIGTERM, SIGUSR1 or SIGUSR2 with work left; rerun the same command to resume
  129  ended by SIGHUP, as when the terminal is closed; rerun the same command to resume
  130  interrupted by Ctrl-C; rerun the same command to resume
  After 75, 129 and 130 `train` and `compare` begin anew.";

/// Prints an error with its causes as one block; returns the exit code.
pub fn report(error: &anyhow::Error) -> u8 {
    eprintln!("{}", block(error));
    ERROR
}

/// Ends the process without the destructors of its libraries.
///
/// LibTorch unregisters each of its operators when a process ends normally, which takes a third of the time of a short
/// command.
pub fn end(code: u8) -> ! {
    // `print` has flushed and looked at the result.
    let _ = stdout().flush();
    signal_hook::low_level::exit(code.into())
}

/// Prints errors for the cards that could not be read; returns the exit code of a command that lists all cards.
pub fn broken_cards<'a>(cards: impl Iterator<Item = (&'a str, &'a str)>) -> u8 {
    let errors = cards.map(|(_, error)| eprintln!("error: {error}"));
    match errors.count() {
        0 => OK,
        _ => SOME_FAILED,
    }
}

fn block(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error:#}");
    if let Some(advice) = storage_advice(error) {
        text.push_str(&format!("\n  advice: {advice}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn causes_follow_the_error() {
        let error =
            anyhow!("no space left on device").context("runs/ab/evals.parquet: cannot write");
        assert_eq!(
            block(&error),
            "error: runs/ab/evals.parquet: cannot write: no space left on device"
        );
    }

    #[test]
    fn a_full_disk_says_what_to_do() {
        let error = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let text = block(&anyhow::Error::new(error).context("runs/ab: cannot write"));
        assert!(
            text.ends_with(
                "\n  advice: free some space and run the same command again; what is done stays"
            ),
            "{text}"
        );
    }
}

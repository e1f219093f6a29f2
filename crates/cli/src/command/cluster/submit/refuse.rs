//! Values that no job could have.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use totune_cluster::time_limit;

use super::SubmitArgs;

impl SubmitArgs {
    /// Refuses values that would end a line of the script or that SLURM would read otherwise than they are meant.
    pub(super) fn refuse(&self) -> Result<()> {
        ensure!(
            self.which.shard.is_none(),
            "--shard: a submission divides its runs among its jobs; expected none"
        );
        let words = [
            ("--partition", &self.partition, "gpu"),
            ("--account", &self.account, "lab"),
            ("--memory", &self.memory, "32G"),
        ];
        for (name, value, example) in words {
            if let Some(value) = value.as_ref().filter(|value| !is_word(value)) {
                bail!("{name}: found `{value}`, expected one word such as {example}");
            }
        }
        self.refuse_time()?;
        self.sbatch
            .iter()
            .try_for_each(|option| refuse_option(option))
    }

    /// Refuses a time limit that cannot be read, or that leaves no time before the signal to stop.
    fn refuse_time(&self) -> Result<()> {
        let Some(limit) = time_limit(&self.time) else {
            bail!(
                "--time: found `{}`, expected a time such as 4:00:00: minutes, h:mm:ss or d-hh:mm:ss",
                self.time
            );
        };
        let notice = Duration::from_secs(self.notice.into());
        ensure!(
            notice < limit,
            "--notice: found {} seconds, expected fewer than the {} of --time {}: a job would be asked to stop at once",
            self.notice,
            limit.as_secs(),
            self.time
        );
        Ok(())
    }
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && !value.contains(char::is_whitespace)
}

/// Refuses what is not one option of `sbatch`, which takes it as one word.
fn refuse_option(option: &str) -> Result<()> {
    if option.contains(['\n', '\r']) {
        bail!("--sbatch: found `{option}`, expected a value on one line");
    }
    let mut words = option.split_whitespace();
    let first = words.next().unwrap_or_default();
    if !first.starts_with('-') || option.starts_with(char::is_whitespace) {
        bail!("--sbatch: found `{option}`, expected an option such as --qos=long");
    }
    let others: Vec<&str> = words.collect();
    if others.iter().any(|word| word.starts_with("--")) {
        bail!("--sbatch: found `{option}`, expected one option; give --sbatch once for each");
    }
    if !others.is_empty() && !first.contains('=') {
        bail!(
            "--sbatch: found `{option}`, expected `=` between an option and its value, as in --qos=long"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_one_word_with_a_value_of_any() {
        for well in [
            "--qos=long",
            "-Cgpu",
            "--exclusive",
            "--comment=my job",
            "--comment=a - b",
        ] {
            refuse_option(well).expect(well);
        }
        for (wrong, expected) in [
            ("", "an option such as"),
            ("qos=low", "an option such as"),
            (" --qos=low", "an option such as"),
            ("--qos=low --nice=5", "once for each"),
            ("--exclude node1", "`=` between"),
            ("--comment=a\nb", "on one line"),
        ] {
            let error = refuse_option(wrong).expect_err(wrong).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

//! The text of a job script.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use totune_disk::quoted_for_shell;

/// An array of workers, or a single job.
#[derive(Debug, Clone)]
pub struct Request {
    /// Name of the job, by which it can be found again.
    pub name: String,
    /// Command that writes this script, for the reader.
    pub made_by: String,
    /// Number of tasks of the array; `None` for a single job.
    pub tasks: Option<usize>,
    /// Time limit, as `sbatch --time` takes it.
    pub time: String,
    /// GPUs of each task.
    pub gpus: usize,
    /// Cores of each task; the cluster's default where it is `None`.
    pub cpus: Option<usize>,
    /// Memory of each task, as `sbatch --mem` takes it.
    pub memory: Option<String>,
    /// Further lines for `sbatch`, such as `--partition=gpu`.
    pub options: Vec<String>,
    /// Seconds between the signal and the time limit.
    pub notice: u32,
    /// Times a task may be started again.
    pub restarts: u32,
    /// Folder of the logs.
    pub logs: PathBuf,
    /// Lines before the command, such as `module load cuda`.
    pub setup: Vec<String>,
    /// The command, one argument each. `$SLURM_ARRAY_TASK_ID` is replaced by the number of the task.
    pub command: Vec<String>,
    /// Exit code of a command that was stopped with work left.
    pub stopped: u8,
}

impl Request {
    /// Writes the script.
    ///
    /// The command is a step of `srun`, since SLURM sends its signals to steps: with control groups, a program that the
    /// shell starts hears nothing before it is killed. A task that was stopped before its time limit requeues itself,
    /// by the names of array and task, because the id of an array is also that of its last task.
    pub fn script(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            let _ = writeln!(text, "{line}");
        };
        line("#!/bin/bash");
        line(&format!("# Written by `{}`.", self.made_by));
        line(&format!("#SBATCH --job-name={}", self.name));
        let log = match self.tasks {
            Some(tasks) => {
                line(&format!("#SBATCH --array=1-{tasks}"));
                "%A_%a.log"
            }
            None => "%j.log",
        };
        // Slurm replaces what follows a per cent sign in a name, of the folder too.
        let folder = self.logs.to_string_lossy().replace('%', "%%");
        let log = Path::new(&folder).join(log);
        line(&format!(
            "#SBATCH --output={}",
            quote(&log.to_string_lossy())
        ));
        line("#SBATCH --open-mode=append");
        line("#SBATCH --requeue");
        line(&format!("#SBATCH --time={}", self.time));
        line(&format!("#SBATCH --signal=TERM@{}", self.notice));
        line("#SBATCH --nodes=1 --ntasks=1");
        if let Some(cpus) = self.cpus {
            line(&format!("#SBATCH --cpus-per-task={cpus}"));
        }
        if let Some(memory) = &self.memory {
            line(&format!("#SBATCH --mem={memory}"));
        }
        if self.gpus > 0 {
            line(&format!("#SBATCH --gres=gpu:{}", self.gpus));
        }
        for option in &self.options {
            line(&format!("#SBATCH {option}"));
        }
        line("");
        line("restarts=${SLURM_RESTART_COUNT:-0}");
        line(&format!("if [ \"$restarts\" -gt {} ]; then", self.restarts));
        line(&format!(
            "    echo \"started $((restarts + 1)) times, which is more than {}: given up\" >&2",
            self.restarts + 1
        ));
        line("    exit 1");
        line("fi");
        self.setup.iter().for_each(|setup| line(setup));
        let words = self.command.iter().map(|word| quote(word));
        let words: Vec<String> = words.collect();
        // A step asks for its cores itself since SLURM 22.05.
        line(&format!(
            "srun --ntasks=1 ${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}} --kill-on-bad-exit=1 \\\n    {}",
            words.join(" ")
        ));
        line("code=$?");
        if self.tasks.is_some() {
            line(&format!(
                "# {}: stopped by the signal before the time limit, with work left.",
                self.stopped
            ));
            line(&format!("if [ \"$code\" -eq {} ]; then", self.stopped));
            line(
                "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" && sleep 60",
            );
            line("fi");
        }
        line("exit \"$code\"");
        text
    }
}

/// A word as a shell takes it. The number of the task stays a variable.
pub fn quote(word: &str) -> String {
    const TASK: &str = "$SLURM_ARRAY_TASK_ID";
    if word.contains(TASK) {
        let parts = word.split(TASK).map(|part| {
            let special = |c: char| {
                if "\"`\\$".contains(c) {
                    format!("\\{c}")
                } else {
                    c.to_string()
                }
            };
            part.chars().map(special).collect::<String>()
        });
        return format!("\"{}\"", parts.collect::<Vec<_>>().join(TASK));
    }
    quoted_for_shell(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(tasks: Option<usize>) -> Request {
        Request {
            name: "totune-1".to_string(),
            made_by: "totune sweep submit hart2020 small --slurm".to_string(),
            tasks,
            time: "4:00:00".to_string(),
            gpus: 1,
            cpus: Some(8),
            memory: Some("32G".to_string()),
            options: vec!["--partition=gpu".to_string()],
            notice: 120,
            restarts: 20,
            logs: PathBuf::from("/a folder/logs"),
            setup: vec!["module load cuda".to_string()],
            command: ["totune", "--worker", "$SLURM_ARRAY_TASK_ID/4", "it's"]
                .map(String::from)
                .to_vec(),
            stopped: 75,
        }
    }

    #[test]
    fn an_array_is_a_step_that_is_warned_and_requeues_itself() {
        let expected = r#"#!/bin/bash
# Written by `totune sweep submit hart2020 small --slurm`.
#SBATCH --job-name=totune-1
#SBATCH --array=1-4
#SBATCH --output='/a folder/logs/%A_%a.log'
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --time=4:00:00
#SBATCH --signal=TERM@120
#SBATCH --nodes=1 --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --gres=gpu:1
#SBATCH --partition=gpu

restarts=${SLURM_RESTART_COUNT:-0}
if [ "$restarts" -gt 20 ]; then
    echo "started $((restarts + 1)) times, which is more than 21: given up" >&2
    exit 1
fi
module load cuda
srun --ntasks=1 ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} --kill-on-bad-exit=1 \
    totune --worker "$SLURM_ARRAY_TASK_ID/4" 'it'\''s'
code=$?
# 75: stopped by the signal before the time limit, with work left.
if [ "$code" -eq 75 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && sleep 60
fi
exit "$code"
"#;
        assert_eq!(request(Some(4)).script(), expected);
    }

    #[test]
    fn a_single_job_has_no_array_and_does_not_come_back() {
        let script = request(None).script();
        assert!(
            !script.contains("--array") && !script.contains("scontrol"),
            "{script}"
        );
        assert!(script.contains("/%j.log'"), "{script}");
    }
}

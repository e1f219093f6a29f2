//! The text of a job script.

use std::path::{Path, PathBuf};

use crate::quote::{quote, quote_for_sbatch};

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
    /// Further options for `sbatch`, one word each, such as `--partition=gpu`.
    pub options: Vec<String>,
    /// Seconds between the signal and the time limit of a task.
    pub notice: u32,
    /// Times a task may be started again.
    pub restarts: u32,
    /// Folder of the logs.
    pub logs: PathBuf,
    /// Environment variables and their values.
    pub variables: Vec<(String, String)>,
    /// Folder of shared libraries that the command loads, where it does not find them by itself.
    pub libraries: Option<PathBuf>,
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
        let parts = [
            self.head(),
            self.options(),
            self.beginning(),
            self.surroundings(),
            self.step(),
        ];
        parts.concat().join("\n") + "\n"
    }

    fn head(&self) -> Vec<String> {
        vec![
            "#!/bin/bash".to_string(),
            format!("# Written by `{}`.", self.made_by),
        ]
    }

    /// The lines that `sbatch` reads.
    fn options(&self) -> Vec<String> {
        let log = match self.tasks {
            Some(_) => "%A_%a.log",
            None => "%j.log",
        };
        // Slurm replaces what follows a per cent sign in a name, of the folder too.
        let folder = self.logs.to_string_lossy().replace('%', "%%");
        let log = Path::new(&folder).join(log);
        let mut options = vec![format!("--job-name={}", self.name)];
        options.extend(self.tasks.map(|tasks| format!("--array=1-{tasks}")));
        options.push(format!("--output={}", log.display()));
        options.extend(["--open-mode=append", "--requeue"].map(String::from));
        options.push(format!("--time={}", self.time));
        // A single job does not listen, and the signal would end it.
        let is_array = self.tasks.is_some();
        options.extend(is_array.then(|| format!("--signal=TERM@{}", self.notice)));
        options.extend(["--nodes=1", "--ntasks=1"].map(String::from));
        options.extend(self.cpus.map(|cpus| format!("--cpus-per-task={cpus}")));
        options.extend(self.memory.as_ref().map(|memory| format!("--mem={memory}")));
        if self.gpus > 0 {
            options.push(format!("--gres=gpu:{}", self.gpus));
        }
        let options = options.iter().chain(&self.options);
        options
            .map(|option| format!("#SBATCH {}", quote_for_sbatch(option)))
            .collect()
    }

    /// Gives up a task that was started too often.
    fn beginning(&self) -> Vec<String> {
        vec![
            String::new(),
            "restarts=${SLURM_RESTART_COUNT:-0}".to_string(),
            format!("if [ \"$restarts\" -gt {} ]; then", self.restarts),
            format!(
                "    echo \"started $((restarts + 1)) times, which is more than {}: given up\" >&2",
                self.restarts + 1
            ),
            "    exit 1".to_string(),
            "fi".to_string(),
        ]
    }

    /// The environment of the command.
    fn surroundings(&self) -> Vec<String> {
        let variable = |(name, value): &(String, String)| format!("export {name}={}", quote(value));
        let mut lines: Vec<String> = self.variables.iter().map(variable).collect();
        // After the variables, so that a line may set one otherwise.
        lines.extend(self.setup.iter().cloned());
        // After those lines, since a module may bring libraries of the same name.
        lines.extend(self.libraries.as_ref().map(|folder| {
            format!(
                "export LD_LIBRARY_PATH={}\"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"",
                quote(&folder.to_string_lossy())
            )
        }));
        lines
    }

    /// The command, and what follows it.
    fn step(&self) -> Vec<String> {
        let words = self.command.iter().map(|word| quote(word));
        let words: Vec<String> = words.collect();
        let mut lines = vec![
            // A step asks for its cores itself since SLURM 22.05.
            "srun --ntasks=1 ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} --kill-on-bad-exit=1 \\".to_string(),
            format!("    {}", words.join(" ")),
            "code=$?".to_string(),
        ];
        if self.tasks.is_some() {
            lines.extend([
                format!(
                    "# {}: stopped by the signal before the time limit, with work left.",
                    self.stopped
                ),
                format!("if [ \"$code\" -eq {} ]; then", self.stopped),
                "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" && sleep 60"
                    .to_string(),
                "fi".to_string(),
            ]);
        }
        lines.push("exit \"$code\"".to_string());
        lines
    }
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
            options: ["--partition=gpu", "--comment=my job"]
                .map(String::from)
                .to_vec(),
            notice: 120,
            restarts: 20,
            logs: PathBuf::from("/a folder/logs"),
            variables: vec![("TOTUNE_LEASE".to_string(), "60 s".to_string())],
            libraries: Some(PathBuf::from("/a torch/lib")),
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
#SBATCH '--output=/a folder/logs/%A_%a.log'
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --time=4:00:00
#SBATCH --signal=TERM@120
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --gres=gpu:1
#SBATCH --partition=gpu
#SBATCH '--comment=my job'

restarts=${SLURM_RESTART_COUNT:-0}
if [ "$restarts" -gt 20 ]; then
    echo "started $((restarts + 1)) times, which is more than 21: given up" >&2
    exit 1
fi
export TOTUNE_LEASE='60 s'
module load cuda
export LD_LIBRARY_PATH='/a torch/lib'"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
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
    fn a_single_job_has_no_array_is_not_warned_and_does_not_come_back() {
        let script = request(None).script();
        for word in ["--array", "--signal", "scontrol"] {
            assert!(!script.contains(word), "{script}");
        }
        assert!(script.contains("/%j.log'"), "{script}");
    }
}

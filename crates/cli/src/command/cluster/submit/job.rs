//! The jobs of a submission: their commands, and what they ask of the scheduler.

use std::env;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use totune_cluster::{Request, time_limit};
use totune_doctor::libtorch_libraries;

use super::SubmitArgs;
use crate::command::cluster::jobs;
use crate::context::Context;
use crate::device::DeviceRequest;
use crate::exit;

/// Time limit of the job that collects; its memory and cores are those of the workers.
const COLLECTING: (&str, Duration) = ("1:00:00", Duration::from_secs(3600));

/// Environment variables that a worker reads and that are no options of its command line.
const VARIABLES: [&str; 3] = [
    "TOTUNE_LEASE",
    "TOTUNE_F32_PRODUCTS",
    "TOTUNE_BF16_PRODUCTS",
];

impl SubmitArgs {
    /// The job of a stage, whose scripts and logs are in `folder`: an array of workers, or without `tasks` the job that collects.
    pub(super) fn job(
        &self,
        context: &Context,
        folder: &Path,
        stage: &str,
        tasks: Option<usize>,
    ) -> Result<Request> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let named = [("partition", &self.partition), ("account", &self.account)];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("--{name}={value}"))
        });
        let variable = |name: &str| Some((name.to_string(), env::var(name).ok()?));
        let (command, time, gpus) = match tasks {
            Some(tasks) => (
                self.worker(context, tasks)?,
                self.time.clone(),
                self.gpus(context),
            ),
            None => (self.collect(context)?, collecting(&self.time), 0),
        };
        Ok(Request {
            name: format!("{name}-{stage}"),
            made_by: format!(
                "totune sweep submit {} --slurm",
                self.which.arguments().join(" ")
            ),
            tasks,
            time,
            gpus,
            cpus: self.cpus,
            memory: self.memory.clone(),
            options: named.chain(self.sbatch.iter().cloned()).collect(),
            notice: self.notice,
            restarts: self.restarts,
            logs: folder.to_path_buf(),
            variables: VARIABLES.into_iter().filter_map(variable).collect(),
            libraries: libtorch_libraries(),
            setup: self.setup.clone(),
            command,
            stopped: exit::REQUEUE,
        })
    }

    /// GPUs of each job of workers: one, unless they compute on the CPU, or another number is asked for.
    pub(super) fn gpus(&self, context: &Context) -> usize {
        let usual = match context.global.device {
            DeviceRequest::Cpu | DeviceRequest::Flex => 0,
            DeviceRequest::Auto | DeviceRequest::Cuda(_) => 1,
        };
        self.gpus.unwrap_or(usual)
    }

    /// The command of a worker.
    fn worker(&self, context: &Context, tasks: usize) -> Result<Vec<String>> {
        let mut command = jobs::program(context)?;
        if let Some(cpus) = self.cpus {
            command.extend(["--threads".to_string(), cpus.to_string()]);
        } else if let Some(threads) = context.global.threads {
            command.extend(["--threads".to_string(), threads.to_string()]);
        }
        let gpus = self.gpus(context);
        let device = match (context.global.device, gpus) {
            (DeviceRequest::Auto, 0) => DeviceRequest::Auto.on_cpu(),
            // Named, so that a job that gets no GPU fails instead of computing on the CPU.
            (DeviceRequest::Auto, _) => DeviceRequest::Cuda(0),
            (asked, _) => asked,
        };
        let several = matches!(device, DeviceRequest::Cuda(_)) && gpus > 1;
        if !several {
            command.extend(["--device".to_string(), device.to_string()]);
        }
        command.extend(["sweep", "run"].map(String::from));
        command.extend(self.which.arguments());
        let every = self.checkpointing.checkpoint_every;
        command.extend(["--checkpoint-every".to_string(), every.to_string()]);
        if several {
            let gpus: Vec<String> = (0..gpus).map(|gpu| gpu.to_string()).collect();
            command.extend(["--devices".to_string(), format!("cuda:{}", gpus.join(","))]);
        }
        let number = format!("$SLURM_ARRAY_TASK_ID/{tasks}");
        command.extend(["--worker".to_string(), number, "--no-wait".to_string()]);
        Ok(command)
    }

    /// The command that collects; it needs no device.
    fn collect(&self, context: &Context) -> Result<Vec<String>> {
        let mut command = jobs::program(context)?;
        let (paper, profile) = self.which.named(context)?;
        command.extend(["collect".to_string(), paper, profile]);
        if self.partial {
            command.push("--partial".to_string());
        }
        Ok(command)
    }
}

/// Time limit of the job that collects, where `time` is that of the workers: a partition that they fit in may allow no more.
fn collecting(time: &str) -> String {
    let (usual, length) = COLLECTING;
    match time_limit(time) {
        Some(limit) if limit < length => time.to_string(),
        _ => usual.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collecting_takes_no_longer_than_a_worker_may() {
        for (time, expected) in [
            ("4:00:00", "1:00:00"),
            ("60", "1:00:00"),
            ("30", "30"),
            ("0:45:00", "0:45:00"),
            ("UNLIMITED", "1:00:00"),
        ] {
            assert_eq!(collecting(time), expected);
        }
    }
}

//! Command lines of the processes that a sweep consists of.

use std::env;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::context::Context;
use crate::global::LogFormat;

/// The beginning of the command line of another process of this sweep: the program and the options of every command
/// except for the device and the threads, with absolute paths.
pub fn program(context: &Context) -> Result<Vec<String>> {
    let program = env::current_exe().context("the program's own path is not known")?;
    let global = &context.global;
    let mut line = vec![word(&program)];
    let folders = [
        ("--project", Some(context.project.root.as_path())),
        ("--data", Some(context.roots.data.as_path())),
        ("--encoders", Some(context.roots.encoders.as_path())),
        ("--cache", context.roots.cache.as_deref()),
    ];
    for (name, folder) in folders {
        if let Some(folder) = folder {
            let folder = std::path::absolute(folder)
                .with_context(|| format!("{name} {}: is no path", folder.display()))?;
            line.extend([name.to_string(), word(&folder)]);
        }
    }
    if context.roots.cache.is_none() {
        line.push("--no-cache".to_string());
    }
    line.extend([
        "--cache-budget".to_string(),
        global.cache_budget.to_string(),
    ]);
    if global.log_format == LogFormat::Json {
        line.extend(["--log-format", "json"].map(String::from));
    }
    if global.quiet {
        line.push("--quiet".to_string());
    }
    Ok(line)
}

fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

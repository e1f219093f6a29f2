//! Draws time against score without building any training code: `curves PROJECT_ROOT PAPER PROFILE TASK [log] [KEY=VALUE …]`.

use std::env;

use anyhow::{Result, bail};
use totune_report::{CurvesRequest, curves};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [project_root, paper, profile, task, more @ ..] = arguments.as_slice() else {
        bail!(
            "found {} arguments, expected PROJECT_ROOT PAPER PROFILE TASK and conditions",
            arguments.len()
        );
    };
    let conditions = more.iter().filter_map(|word| word.split_once('='));
    let request = CurvesRequest {
        project_root: project_root.into(),
        shipped: None,
        paper: paper.clone(),
        profile: profile.clone(),
        task: task.clone(),
        conditions: conditions
            .map(|(path, value)| (path.to_owned(), value.to_owned()))
            .collect(),
        log_time: more.iter().any(|word| word == "log"),
        ..CurvesRequest::default()
    };
    let written = curves(&request)?;
    println!("{}\n{}", written.text, written.folder.display());
    Ok(())
}

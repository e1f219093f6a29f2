//! Writes a report without building any training code: `report PROJECT_ROOT PAPER PROFILE`.

use std::env;

use anyhow::{Result, bail};
use totune_report::{Request, report};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [project_root, paper, profile] = arguments.as_slice() else {
        bail!(
            "found {} arguments, expected PROJECT_ROOT PAPER PROFILE",
            arguments.len()
        );
    };
    let request = Request {
        project_root: project_root.into(),
        shipped: None,
        paper: paper.clone(),
        profile: profile.clone(),
    };
    println!("{}", report(&request)?.index.display());
    Ok(())
}

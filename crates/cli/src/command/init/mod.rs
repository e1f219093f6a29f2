//! `totune init`: creates a project of the user's own.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::command::data::write_new;
use crate::exit;

/// Make a project: a folder for your own experiments, datasets and encoders
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune init my-project
  cd my-project && totune reproduce example own

Writes .gitignore, an experiment with comments in experiments/example, and READMEs with a card for
a dataset and one for an encoder. Cards that come with totune are known in every folder; a
project's own ones go before them. `totune compare` and `totune train` need no project.")]
pub struct Init {
    /// Folder of the project
    #[arg(default_value = ".")]
    folder: PathBuf,
}

/// The files of a new project.
const FILES: [(&str, &str); 5] = [
    ("README.md", include_str!("README.md")),
    (".gitignore", include_str!("gitignore")),
    (
        "experiments/example/strategies.toml",
        include_str!("strategies.toml"),
    ),
    ("datasets/README.md", include_str!("datasets.md")),
    ("encoders/README.md", include_str!("encoders.md")),
];

impl Init {
    /// Writes the files; existing ones are left unchanged.
    pub fn run(self) -> Result<u8> {
        let experiments = self.folder.join("experiments");
        if experiments.exists() {
            bail!(
                "{}: is already there, so {} is a project",
                experiments.display(),
                self.folder.display()
            );
        }
        for (name, text) in FILES {
            let path = self.folder.join(name);
            if path.exists() {
                eprintln!("{} stays as it is", path.display());
                continue;
            }
            write_new(&path, text)?;
            println!("{}", path.display());
        }
        eprintln!(
            "a first experiment, in {}: totune reproduce example own",
            self.folder.display()
        );
        Ok(exit::OK)
    }
}

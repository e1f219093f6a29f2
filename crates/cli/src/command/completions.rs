//! `totune completions`: completion scripts for shells.

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::exit;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  totune completions bash > ~/.local/share/bash-completion/completions/totune
  totune completions zsh > ~/.zfunc/_totune
  totune completions fish > ~/.config/fish/completions/totune.fish";

impl Completions {
    /// Prints the script for `command`, the whole of the command line.
    ///
    /// # Errors
    /// Never; a full disk ends the program.
    pub fn run(self, mut command: Command) -> Result<u8> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "totune", &mut script);
        print!("{}", String::from_utf8(script)?);
        Ok(exit::OK)
    }
}

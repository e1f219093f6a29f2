//! The `totune` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    totune_cli::main()
}

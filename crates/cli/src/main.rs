//! The `totune` command.

fn main() -> ! {
    totune_cli::main()
}

//! The program `ade`: runs the library and exits with the code it returns.

use std::process::ExitCode;

fn main() -> ExitCode {
    ade_cli::run()
}

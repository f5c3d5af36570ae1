//! The program `ade`: reads its arguments and ends with the code that the library answers.

use std::process::ExitCode;

fn main() -> ExitCode {
    ade_cli::run()
}

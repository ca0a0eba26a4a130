//! The program `celador`.

use std::process::ExitCode;

fn main() -> ExitCode {
    celador_cli::run(std::env::args_os()).into()
}

//! The `celador` command: arguments in, an exit code out. All of it is in `cli`, which uses the library's public API only.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main().into()
}

//! The `headwater` command: calls the library and turns the result into an exit status.

fn main() -> std::process::ExitCode {
    headwater::cli::main()
}

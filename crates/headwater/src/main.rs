//! The `headwater` command: hands over to the library and turns its answer into an exit status.

fn main() -> std::process::ExitCode {
    headwater::cli::main()
}

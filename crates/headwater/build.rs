//! Makes the linker pack the addresses of the tables in the program's data, 24 bytes each, where the linker and the C library of
//! this machine know how: a third of a megabyte of a release build. The code and its place are the same with and without.

use std::path::PathBuf;
use std::process::Command;

/// The option of the linker. Its absence shows in the program that is made, and never as an error.
const OPTION: &str = "-Wl,-z,pack-relative-relocs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_here = std::env::var("HOST") == std::env::var("TARGET");
    let is_glibc = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name == "gnu");
    if is_here && is_glibc && packed_program_runs() {
        println!("cargo::rustc-link-arg-bins={OPTION}");
    }
}

/// Whether a program that is linked so starts: before glibc 2.36 its dynamic linker refuses it.
fn packed_program_runs() -> bool {
    let Some(folder) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return false };
    let (source, program) = (folder.join("packed.c"), folder.join("packed"));
    let text = "int place; int *pointer = &place; int main(void) { return pointer != &place; }\n";
    if std::fs::write(&source, text).is_err() {
        return false;
    }
    let linked = Command::new("cc").args(["-fPIE", "-pie", OPTION, "-o"]).arg(&program).arg(&source).status();
    linked.is_ok_and(|status| status.success()) && Command::new(program).status().is_ok_and(|status| status.success())
}

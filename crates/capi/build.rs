//! Tests and benchmarks load modules in C, which find the DDI/DKI in the test's program.

fn main() {
    println!("cargo::rustc-link-arg-tests=-rdynamic");
    println!("cargo::rustc-link-arg-benches=-rdynamic");
    println!("cargo::rerun-if-env-changed=HEADWATER_MODULES_DIR");
}

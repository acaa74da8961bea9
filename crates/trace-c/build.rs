//! Gives the shared library its name for the run-time linker: programs that were linked with one of another ABI do not start
//! with this one. The number is `HW_TRACE_ABI`'s.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libheadwater_trace_c.so.1");
    // The kernel looks at the descriptor of a thread's last restartable sequence, which lies in the library, after it is over.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

//! Sets the soname of the shared library: programs that were linked with a library of another ABI do not start with
//! this one. The number is `HW_TRACE_ABI`'s.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libheadwater_trace_c.so.1");
    // The kernel may read the descriptor of a thread's last restartable sequence, which lies in the library, after the
    // sequence has ended.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

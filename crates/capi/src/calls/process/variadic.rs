//! execl, execlp and execle. Their arguments lie in registers and on the stack. The entry points store the registers
//! next to the arguments on the stack, so that all of them form one array, as execv takes it.

use std::ffi::{c_char, c_int};

use super::{Strings, hw_c_execv, hw_c_execve, hw_c_execvp};

/// Defines `NAME(path, string, ...)` as `TARGET(path, argv)`.
macro_rules! listed {
    ($($name:literal => $target:ident;)*) => {
        $(std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            // The return address goes below the array, whose last part the caller has stored on its stack.
            "pop rax",
            "push r9",
            "push r8",
            "push rcx",
            "push rdx",
            "push rsi",
            "mov rsi, rsp",
            "push rax",
            // The stack is aligned: eight words below the caller's, whose stack was aligned before its call.
            "sub rsp, 16",
            "call {target}",
            "add rsp, 16",
            "pop rcx",
            "add rsp, 40",
            "jmp rcx",
            concat!(".size ", $name, ", .-", $name),
            ".popsection",
            target = sym $target,
        );)*
    };
}

listed! {
    "hw_c_execl" => hw_c_execv;
    "hw_c_execlp" => hw_c_execvp;
    "hw_c_execle" => hw_own_execle;
}

/// execle(3). The environment stands behind the null pointer that ends the arguments.
///
/// # Safety
/// `path` is a string; `argv` is an array of strings that ends with a null pointer, and the environment follows it.
#[unsafe(no_mangle)]
unsafe extern "C" fn hw_own_execle(path: *const c_char, argv: Strings) -> c_int {
    let mut at = argv;
    // SAFETY: the caller promises that `argv` ends with a null pointer, which is not passed.
    while !unsafe { *at }.is_null() {
        at = at.wrapping_add(1);
    }
    // SAFETY: the caller promises that `path` is a string, and that the environment follows the end of `argv`.
    unsafe { hw_c_execve(path, argv, at.add(1).cast::<Strings>().read()) }
}

//! Entry points whose arguments this library cannot read (`...`), or that may return twice (vfork). Such an entry point
//! calls a function that returns where to continue, and jumps there with all registers and the stack unchanged.

/// Defines the C function `NAME`, which calls `CHOICE` with its own first six arguments, and continues at the address
/// that `CHOICE` returns.
macro_rules! jumping {
    ($($name:literal => $choice:ident;)*) => {
        $(std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            // rax has the count of vector registers that carry arguments.
            "push rax",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            // The stack is aligned: the return address, seven words, and 128 bytes.
            "call {choice}",
            "mov r11, rax",
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "add rsp, 128",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "pop rax",
            "jmp r11",
            concat!(".size ", $name, ", .-", $name),
            ".popsection",
            choice = sym $choice,
        );)*
    };
}
pub(crate) use jumping;

//! strlog: sends a message of a program, or of a module written in C, to the loggers of the driver `log`.

use std::ffi::{CStr, c_char, c_int, c_short, c_ushort, c_void};

use headwater_streams::drivers::log::LogFlags;

use crate::errno::guarded;

/// The longest text in bytes, which is that of the driver (log(7)).
const TEXT: usize = 1024;

unsafe extern "C" {
    fn vsnprintf(text: *mut c_char, room: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// strlog(9) with its arguments as a va_list. Returns 1 if all loggers that ask for the message got it, else 0.
///
/// # Safety
/// `format` is null or a string; `arguments` is a va_list with the arguments that `format` asks for (printf(3)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_vstrlog(
    mid: c_short,
    sid: c_short,
    level: c_char,
    flags: c_ushort,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    let mut text = [0 as c_char; TEXT];
    // SAFETY: the caller promises that `format` is a string and that `arguments` has what it asks for; vsnprintf writes
    // at most TEXT bytes, and a NUL at the end.
    if format.is_null() || unsafe { vsnprintf(text.as_mut_ptr(), TEXT, format, arguments) } < 0 {
        return 0;
    }
    // SAFETY: vsnprintf has succeeded, so `text` ends with a NUL.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
    let flags = LogFlags::from_bits_truncate(flags);
    guarded(|| Ok(headwater_streams::strlog(mid, sid, level, flags, &text).into())).unwrap_or(0)
}

// Makes a va_list of the arguments behind the fifth, with the layout of the System V ABI for x86-64. The registers are
// saved at the stack pointer, and the list lies behind them.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.strlog,\"ax\",@progbits",
    ".globl strlog",
    ".type strlog,@function",
    "strlog:",
    "sub rsp, 216",
    "mov [rsp + 40], r9",
    "test al, al",
    "je 2f",
    "movaps [rsp + 48], xmm0",
    "movaps [rsp + 64], xmm1",
    "movaps [rsp + 80], xmm2",
    "movaps [rsp + 96], xmm3",
    "movaps [rsp + 112], xmm4",
    "movaps [rsp + 128], xmm5",
    "movaps [rsp + 144], xmm6",
    "movaps [rsp + 160], xmm7",
    "2:",
    "mov dword ptr [rsp + 176], 40",
    "mov dword ptr [rsp + 180], 48",
    "lea rax, [rsp + 224]",
    "mov [rsp + 184], rax",
    "mov [rsp + 192], rsp",
    "lea r9, [rsp + 176]",
    "call {target}",
    "add rsp, 216",
    "ret",
    ".size strlog, .-strlog",
    ".popsection",
    target = sym hw_own_vstrlog,
);

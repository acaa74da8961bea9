//! The constants and layouts of the headers in `include/`: those of SVR4 on an LP64 machine, under their names in C.
//! `tests/headers.rs` compares each with the header.
//!
//! Constants have the types in which calls pass them: requests of ioctl(2) are [`c_ulong`](std::ffi::c_ulong), flags
//! are [`c_int`](std::ffi::c_int), commands of I_STR are `u32` as in `headwater_streams`.

#![allow(non_camel_case_types, reason = "the names are those of C")]

/// Defines constants, and a table of them.
macro_rules! constants {
    ($table:ident: $($(#[$about:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$about])* pub const $name: $type = $value;)*
        /// Each constant of the header.
        pub const $table: &[(&str, i64)] = &[$((stringify!($name), $name as i64)),*];
    };
}

/// Defines structures laid out as in C, and a table of them.
macro_rules! structures {
    ($table:ident: $($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy)]
            #[repr(C)]
            pub struct $name {
                $($(#[$field_about])* pub $field: $type,)*
            }
        )*
        /// Each structure of the header.
        pub const $table: &[$crate::abi::Layout] = &[$((
            stringify!($name),
            size_of::<$name>(),
            &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>())),*],
        )),*];
    };
}

/// A structure: its name, its size in bytes, and its fields with their offsets and sizes in bytes.
pub type Layout = (&'static str, usize, &'static [(&'static str, usize, usize)]);

mod bufmod;
mod log;
mod ptms;
mod sad;
mod strconf;
mod stropts;
mod strpoll;
mod tihdr;
mod transport;
mod xti;

pub use bufmod::*;
pub use log::*;
pub use ptms::*;
pub use sad::*;
pub use strconf::*;
pub use stropts::*;
pub use strpoll::*;
pub use tihdr::*;
pub use transport::*;
pub use xti::*;

/// A header: its name, its constants and its structures.
pub type Header = (&'static str, &'static [(&'static str, i64)], &'static [Layout]);

/// All headers that define names of their own.
pub const HEADERS: &[Header] = &[
    ("sys/bufmod.h", BUFMOD, BUFMOD_LAYOUTS),
    ("sys/log.h", LOG, LOG_LAYOUTS),
    ("sys/ptms.h", PTMS, &[]),
    ("sys/sad.h", SAD, SAD_LAYOUTS),
    ("sys/sockmod.h", SOCKMOD_H, &[]),
    ("sys/strconf.h", STRCONF, &[]),
    ("sys/strlog.h", STRLOG, &[]),
    ("sys/stropts.h", STROPTS, STROPTS_LAYOUTS),
    ("sys/strpoll.h", STRPOLL, &[]),
    ("sys/tihdr.h", TIHDR, TIHDR_LAYOUTS),
    ("sys/timod.h", TIMOD_H, &[]),
    ("sys/tpi.h", TPI, &[]),
    ("tiuser.h", TIUSER, &[]),
    ("xti.h", XTI, XTI_LAYOUTS),
    ("xti_inet.h", XTI_INET, &[]),
];

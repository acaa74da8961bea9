//! aio_read and its relatives. The C library makes these calls in threads of its own, whose stacks are too small for a
//! call on a stream. On a stream they fail with `ENOTSUP`.

use std::ffi::{c_int, c_void};

use crate::errno::{Failure, returned};
use crate::memory;
use crate::next::next;
use crate::table;

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{Block, c_int, c_void, next};

    next! {
        aio_read(block: *mut Block) -> c_int;
        aio_read64(block: *mut Block) -> c_int;
        aio_write(block: *mut Block) -> c_int;
        aio_write64(block: *mut Block) -> c_int;
        aio_fsync(operation: c_int, block: *mut Block) -> c_int;
        aio_fsync64(operation: c_int, block: *mut Block) -> c_int;
        lio_listio(mode: c_int, blocks: *const *mut Block, count: c_int, event: *mut c_void) -> c_int;
        lio_listio64(mode: c_int, blocks: *const *mut Block, count: c_int, event: *mut c_void) -> c_int;
    }
}

/// The beginning of a struct aiocb.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Block {
    fd: c_int,
}

/// Returns whether a request is one on a stream. A bad address is left to the C library.
fn is_of_stream(block: *const Block) -> bool {
    // SAFETY: `memory::get` checks that `block` is readable, and any bytes are a valid int.
    table::is_any() && !block.is_null() && unsafe { memory::get(block) }.is_ok_and(|block| table::is_stream(block.fd))
}

macro_rules! refused {
    ($($name:ident = $real:ident($($argument:ident: $type:ty),*) if $is_of_stream:expr;)*) => {
        $(
            /// Calls the function of the next library, or fails if a request is one on a stream.
            ///
            /// # Safety
            /// The pointers are as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                if $is_of_stream {
                    return returned(Err(Failure(libc::ENOTSUP)));
                }
                // SAFETY: the caller promises that the pointers are as this function's man page requires.
                unsafe { real::$real($($argument),*) }
            }
        )*
    };
}

refused! {
    hw_c_aio_read = aio_read(block: *mut Block) if is_of_stream(block);
    hw_c_aio_read64 = aio_read64(block: *mut Block) if is_of_stream(block);
    hw_c_aio_write = aio_write(block: *mut Block) if is_of_stream(block);
    hw_c_aio_write64 = aio_write64(block: *mut Block) if is_of_stream(block);
    hw_c_aio_fsync = aio_fsync(operation: c_int, block: *mut Block) if is_of_stream(block);
    hw_c_aio_fsync64 = aio_fsync64(operation: c_int, block: *mut Block) if is_of_stream(block);
    hw_c_lio_listio = lio_listio(mode: c_int, blocks: *const *mut Block, count: c_int, event: *mut c_void)
        if has_stream(blocks, count);
    hw_c_lio_listio64 = lio_listio64(mode: c_int, blocks: *const *mut Block, count: c_int, event: *mut c_void)
        if has_stream(blocks, count);
}

/// Returns whether one of the requests is on a stream. Then no request is started.
fn has_stream(blocks: *const *mut Block, count: c_int) -> bool {
    let is_one = |at: usize| {
        // SAFETY: `memory::get` checks that the entry of `blocks` is readable, and any bytes are a valid pointer.
        unsafe { memory::get(blocks.wrapping_add(at)) }.is_ok_and(|block| is_of_stream(block))
    };
    table::is_any() && (0..usize::try_from(count).unwrap_or(0)).any(is_one)
}

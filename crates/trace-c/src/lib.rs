//! The tracer for C and C++: what `include/headwater/trace.h` declares. Nothing of ours uses it; it is linked to others'
//! programs.
//!
//! `unsafe` is allowed here, because C's pointers are what it is given: every one is what the header says, or the caller has
//! broken C's rules already. No panic leaves it: what would panic does nothing.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use headwater_trace::event::{Event, FIELDS_MAX, Type};
use headwater_trace::record::HEAD;

/// How the structures lie; as `HW_TRACE_ABI` in the header.
const ABI: u32 = 1;

/// Most fields of an event, as the header's macros have them.
const FIELDS: usize = 8;

/// `struct hw_trace_field`.
#[derive(Debug)]
#[repr(C)]
pub struct Field {
    name: *const c_char,
    kind: u32,
    bytes: u32,
}

/// `struct hw_trace_event`.
#[derive(Debug)]
#[repr(C)]
pub struct OfC {
    state: AtomicU32,
    abi: u32,
    name: *const c_char,
    fields: *const Field,
    count: u64,
    event: AtomicPtr<Event>,
}

/// Joins the session that the environment names.
#[unsafe(no_mangle)]
pub extern "C" fn hw_trace_init() -> c_int {
    code(headwater_trace::init)
}

/// Lets tracers in.
#[unsafe(no_mangle)]
pub extern "C" fn hw_trace_listen() -> c_int {
    code(headwater_trace::listen)
}

/// Joins a session by its file.
///
/// # Safety
/// `path` is null or a text with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_trace_join(path: *const c_char) -> c_int {
    if path.is_null() {
        return EINVAL;
    }
    // SAFETY: by the contract.
    let path = unsafe { CStr::from_ptr(path) };
    code(|| headwater_trace::join(Path::new(OsStr::from_bytes(path.to_bytes()))))
}

/// Leaves the session.
#[unsafe(no_mangle)]
pub extern "C" fn hw_trace_leave() {
    let _ = catch_unwind(headwater_trace::leave);
}

/// Writes a record.
///
/// # Safety
/// `event` is one of the header's, in a static; `words` are as many as `bytes` take, of which nobody else has a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_trace_write(event: *const OfC, words: *mut u64, bytes: usize) {
    // SAFETY: by the contract, and a static lives as long as anybody asks for it.
    let of_c: &'static OfC = unsafe { &*event };
    if !(HEAD..=HEAD + FIELDS_MAX).contains(&bytes) {
        return;
    }
    // SAFETY: by the contract.
    let words = unsafe { slice::from_raw_parts_mut(words, bytes.div_ceil(8)) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let made = of_c.event.load(Ordering::Acquire);
        // SAFETY: what is not null was put there by `make`, and is never freed.
        match unsafe { made.as_ref() }.or_else(|| make(of_c)) {
            Some(event) => event.write_made(words, bytes),
            // It is none that could be recorded.
            None => of_c.state.store(0, Ordering::Relaxed),
        }
    }));
}

const EINVAL: c_int = 22;
const EIO: c_int = 5;

fn code(what: impl FnOnce() -> io::Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(what)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => EINVAL,
            _ => EIO,
        }),
        Err(_) => EIO,
    }
}

/// The event as the tracer knows it; made by whoever comes first.
#[cold]
fn make(of_c: &'static OfC) -> Option<&'static Event> {
    if of_c.abi != ABI {
        return None;
    }
    // SAFETY: the header's macros make names of literals, and the fields an array of that length, or null of none.
    let (name, fields) = unsafe {
        let count = usize::try_from(of_c.count).ok()?;
        let fields = if count == 0 { &[][..] } else { slice::from_raw_parts(of_c.fields, count) };
        (CStr::from_ptr(of_c.name), fields)
    };
    let typed = |field: &Field| {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(field.name) };
        let bytes = u8::try_from(field.bytes).ok()?;
        let kind = match u8::try_from(field.kind).ok()? {
            b'u' => Type::Unsigned(bytes),
            b'i' => Type::Signed(bytes),
            b'f' => Type::Float(bytes),
            b's' => Type::Text,
            _ => return None,
        };
        Some((name.to_str().ok()?, kind))
    };
    // On the stack: the event's first hit may be in a signal handler.
    let mut all = [("", Type::Text); FIELDS];
    for (place, field) in all.get_mut(..fields.len())?.iter_mut().zip(fields) {
        *place = typed(field)?;
    }
    let event = Event::make(name.to_str().ok()?, &all[..fields.len()], Some(&of_c.state))?;
    let own = ptr::from_ref(event).cast_mut();
    // AcqRel: pairs with the Acquire in `hw_trace_write`. Who comes second has made one that nobody asks for any more.
    match of_c.event.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(event),
        // SAFETY: as in `hw_trace_write`.
        Err(other) => unsafe { other.as_ref() },
    }
}

const _: () = {
    // As the header has them.
    assert!(size_of::<OfC>() == 40 && std::mem::offset_of!(OfC, event) == 32 && size_of::<Field>() == 16);
};

//! The tracer for C and C++, declared in `include/headwater/trace.h`. No other crate of this workspace uses it; it is
//! linked into programs in C and C++.
//!
//! `unsafe` is allowed here, because its arguments are pointers from C: every one is what the header documents, or the
//! caller has broken the rules of C already. No panic leaves the library: a function that would panic does nothing.

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

/// The version of the structure layout; as `HW_TRACE_ABI` in the header.
const ABI: u32 = 1;

/// The largest number of fields of an event, as in the header's macros.
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
/// `event` is a static that the header's macros define; `words` has room for `bytes` bytes, and no other pointer to it
/// is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_trace_write(event: *const OfC, words: *mut u64, bytes: usize) {
    // SAFETY: by the contract, and a static lives as long as the program.
    let of_c: &'static OfC = unsafe { &*event };
    if !(HEAD..=HEAD + FIELDS_MAX).contains(&bytes) {
        return;
    }
    // SAFETY: by the contract.
    let words = unsafe { slice::from_raw_parts_mut(words, bytes.div_ceil(8)) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let made = of_c.event.load(Ordering::Acquire);
        // SAFETY: a pointer that is not null was stored by `make`, and is never freed.
        match unsafe { made.as_ref() }.or_else(|| make(of_c)) {
            Some(event) => event.write_made(words, bytes),
            // The event cannot be recorded.
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

/// Returns the tracer's form of the event; the first thread that gets here makes it.
#[cold]
fn make(of_c: &'static OfC) -> Option<&'static Event> {
    if of_c.abi != ABI {
        return None;
    }
    // SAFETY: the header's macros make names of literals, and `fields` is an array of that length, or null if there are
    // none.
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
    // AcqRel: pairs with the Acquire in `hw_trace_write`. A thread that comes second has made an event that is never
    // used.
    match of_c.event.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(event),
        // SAFETY: as in `hw_trace_write`.
        Err(other) => unsafe { other.as_ref() },
    }
}

const _: () = {
    // As in the header.
    assert!(size_of::<OfC>() == 40 && std::mem::offset_of!(OfC, event) == 32 && size_of::<Field>() == 16);
};

//! Finds out whether the program, or a library of the program, is linked with this library: the dynamic sections of the
//! loaded objects say so. A program for which the library is also preloaded counts as linked.

use std::ffi::{CStr, c_char, c_int, c_void};

use libc::{Elf64_Addr, dl_phdr_info};

/// An entry of a dynamic section (ELF's Elf64_Dyn).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_STRTAB: i64 = 5;

/// Returns whether an object of the program names this library among those that it needs.
pub fn is_needed() -> bool {
    // SAFETY: `look` has the type that dl_iterate_phdr(3) calls, and ignores the null data pointer.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::null_mut()) != 0 }
}

/// Returns 1 if this object needs the library.
unsafe extern "C" fn look(object: *mut dl_phdr_info, _size: usize, _: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes a valid `object` for the time of the call.
    let object = unsafe { &*object };
    if object.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: `dlpi_phdr` points at `dlpi_phnum` headers, as dl_iterate_phdr(3) says.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return 0 };
    let first = (object.dlpi_addr + dynamic.p_vaddr) as *const Entry;
    let entries = || {
        // SAFETY: the entries of a dynamic section are readable up to the one with the tag 0, and no further one is
        // read.
        (0..).map(|at| unsafe { *first.add(at) }).take_while(|entry| entry.tag != DT_NULL)
    };
    let Some(texts) = entries().find(|entry| entry.tag == DT_STRTAB).map(|entry| entry.value) else { return 0 };
    // Where glibc can write to the section, it has relocated the address already.
    let texts: Elf64_Addr = if texts < object.dlpi_addr { texts + object.dlpi_addr } else { texts };
    let is_this = |entry: Entry| {
        // SAFETY: the value of DT_NEEDED is the offset of a string with a NUL in the object's string table.
        let name = unsafe { CStr::from_ptr((texts + entry.value) as *const c_char) };
        name.to_bytes().starts_with(b"libheadwater.so")
    };
    entries().any(|entry| entry.tag == DT_NEEDED && is_this(entry)).into()
}

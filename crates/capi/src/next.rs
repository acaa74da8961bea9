//! The functions that this library's entry points replace: those of the C library, or of another library that is
//! preloaded behind this one.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::errno;

/// A function that is looked up at its first call.
#[derive(Debug)]
pub struct Next {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Next {
    pub const fn new(name: &'static CStr) -> Next {
        Next { name, at: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns its address if it was looked up already, else null.
    #[inline(always)]
    pub fn known(&self) -> *mut c_void {
        // Relaxed: the address does not change once it is known.
        self.at.load(Ordering::Relaxed)
    }

    /// Returns its address. Null if no library has the function.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        let at = self.known();
        if at.is_null() { self.find() } else { at }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let before = errno::last();
        // SAFETY: `name` is a string with a NUL.
        let at = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        errno::set(before.0);
        self.at.store(at, Ordering::Relaxed);
        at
    }
}

/// Defines `next::NAME` as the function of that name in the next library, with the type that C declares. If no library
/// has the function, a call fails with `ENOSYS`.
macro_rules! next {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// The next library's function of this name.
            ///
            /// # Safety
            /// The arguments are as this function's man page requires.
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> $result {
                static NEXT: $crate::next::Next = $crate::next::Next::new(
                    // SAFETY: the appended NUL is the only one in the string.
                    unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                );
                /// Looks the function up. It is separate, so that a later call is a plain jump.
                #[cold]
                #[inline(never)]
                unsafe extern "C" fn call_first_time($($argument: $type),*) -> $result {
                    if NEXT.address().is_null() {
                        $crate::errno::set(libc::ENOSYS);
                        return <$result as $crate::errno::CResult>::FAILED;
                    }
                    // SAFETY: the caller promises that the arguments are as this function's man page requires.
                    unsafe { $name($($argument),*) }
                }
                let address = NEXT.known();
                if address.is_null() {
                    // SAFETY: the caller promises that the arguments are as this function's man page requires.
                    return unsafe { call_first_time($($argument),*) };
                }
                // SAFETY: dlsym has found the C library's function of this name, which has this type.
                let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(address) };
                // SAFETY: the caller promises that the arguments are as this function's man page requires.
                unsafe { function($($argument),*) }
            }
        )*
    };
}
pub(crate) use next;

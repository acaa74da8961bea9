//! A word of each thread that two loads find, also in a shared library, because its distance from the thread pointer is constant.
//! A `thread_local!` of a shared library needs a call, which costs as much as the rest of an event or of a short read.
//!
//! The word is thread-local storage of the initial-exec model. If a library with such a word is opened by dlopen(3), the word
//! comes from the few hundred bytes that glibc reserves for this purpose. musl refuses such a library.

/// Declares a module with functions `get` and `set` for a word of each thread, which is 0 at first. If a reference type is given,
/// the value is a reference to a static, and `None` at first.
///
/// The text is the name of the symbol. It contains the version of the crate, because another version in the same program has its
/// own word.
///
/// ```
/// headwater_os::thread_word! { mod count = "an_example_count_0_1_0" }
/// headwater_os::thread_word! { mod name: &'static &'static str = "an_example_name_0_1_0" }
///
/// count::set(7);
/// name::set(Some(&"main"));
/// std::thread::spawn(|| assert_eq!((count::get(), name::get()), (0, None))).join().unwrap();
/// assert_eq!((count::get(), name::get()), (7, Some(&"main")));
/// ```
#[macro_export]
macro_rules! thread_word {
    ($(#[$about:meta])* $visibility:vis mod $name:ident: &'static $target:ty = $symbol:literal) => {
        $(#[$about])*
        $visibility mod $name {
            #![allow(unsafe_code, reason = "a macro of headwater-os")]

            #[allow(unused_imports, reason = "the type may need none")]
            use super::*;

            $crate::thread_word! { mod word = $symbol }

            #[inline(always)]
            pub fn get() -> Option<&'static $target> {
                // SAFETY: only `set` stores there: null, or such a reference.
                unsafe { std::ptr::with_exposed_provenance::<$target>(word::get() as usize).as_ref() }
            }

            #[inline]
            pub fn set(value: Option<&'static $target>) {
                word::set(value.map_or(0, |value| std::ptr::from_ref(value).expose_provenance() as u64));
            }
        }
    };
    ($(#[$about:meta])* $visibility:vis mod $name:ident = $symbol:literal) => {
        $(#[$about])*
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        $visibility mod $name {
            #![allow(unsafe_code, reason = "a macro of headwater-os")]

            use std::arch::{asm, global_asm};

            global_asm!(
                concat!(".pushsection .tbss.", $symbol, ",\"awT\",@nobits"),
                ".balign 8",
                concat!(".globl ", $symbol),
                concat!(".hidden ", $symbol),
                concat!(".type ", $symbol, ",@object"),
                concat!(".size ", $symbol, ",8"),
                concat!($symbol, ":"),
                ".zero 8",
                ".popsection",
            );

            #[inline(always)]
            pub fn get() -> u64 {
                let word: u64;
                // SAFETY: reads the thread's own word, whose distance from the thread pointer the loader has stored.
                unsafe {
                    asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {0}, qword ptr fs:[{0}]",
                        out(reg) word,
                        options(nostack, preserves_flags, readonly),
                    );
                }
                word
            }

            #[inline]
            pub fn set(word: u64) {
                // SAFETY: as in `get`; only these two functions access the word.
                unsafe {
                    asm!(
                        concat!("mov {1}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{1}], {0}",
                        in(reg) word,
                        out(reg) _,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }

        $(#[$about])*
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        $visibility mod $name {
            use std::cell::Cell;

            thread_local!(static WORD: Cell<u64> = const { Cell::new(0) });

            #[inline]
            pub fn get() -> u64 {
                WORD.get()
            }

            #[inline]
            pub fn set(word: u64) {
                WORD.set(word);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    crate::thread_word! { mod first = "headwater_os_test_first" }
    crate::thread_word! { mod second: &'static &'static [u8] = "headwater_os_test_second" }

    #[test]
    fn each_thread_has_its_own_words() {
        let run = |value: u64, bytes: &'static &'static [u8]| {
            assert_eq!((first::get(), second::get()), (0, None));
            for turn in 0..1000 {
                first::set(value + turn);
                second::set(Some(bytes));
                std::thread::yield_now();
                assert_eq!((first::get(), second::get()), (value + turn, Some(bytes)));
            }
            second::set(None);
            assert_eq!(second::get(), None);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| run(1 << 40, &(b"one" as &[u8])));
            scope.spawn(|| run(2 << 40, &(b"two" as &[u8])));
        });
    }
}

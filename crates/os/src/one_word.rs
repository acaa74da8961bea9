//! A word that is a reference to a static value, a box of the same type, or a number. For values that must fit a register
//! and are nearly always static, such as errors.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ptr::NonNull;

/// The bit that is set in the address of a box.
const BOXED: usize = 1;
/// The bit that is set in a number. The number itself is above these two bits.
const NUMBER: usize = 2;

/// The number of bits of a number.
pub const NUMBER_BITS: u32 = usize::BITS - 2;

/// A `&'static T`, a `Box<T>`, or a number.
pub struct OneWord<T: 'static> {
    word: NonNull<T>,
    /// The word may own a box.
    owned: PhantomData<Box<T>>,
}

/// The contents of a [`OneWord`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a, T> {
    /// A value, which is static or in a box.
    Value(&'a T),
    /// A number.
    Number(usize),
}

impl<T> OneWord<T> {
    const HAS_FREE_BITS: () = assert!(align_of::<T>() > (BOXED | NUMBER), "the lowest bits of the address are needed");

    /// Makes a word that refers to a static value.
    pub fn from_static(value: &'static T) -> OneWord<T> {
        let () = Self::HAS_FREE_BITS;
        OneWord { word: NonNull::from(value), owned: PhantomData }
    }

    /// Makes a word that owns a box.
    pub fn from_box(value: Box<T>) -> OneWord<T> {
        let () = Self::HAS_FREE_BITS;
        let word = NonNull::from(Box::leak(value)).map_addr(|address| address | BOXED);
        OneWord { word, owned: PhantomData }
    }

    /// Makes a word that contains a number of [`NUMBER_BITS`] bits. Higher bits are lost.
    pub fn from_number(number: usize) -> OneWord<T> {
        let () = Self::HAS_FREE_BITS;
        let word = NonZero::new(number << 2 | NUMBER).expect("a bit is set");
        OneWord { word: NonNull::without_provenance(word), owned: PhantomData }
    }

    /// Returns the contents.
    #[inline]
    pub fn view(&self) -> View<'_, T> {
        let word = self.word.addr().get();
        if word & NUMBER != 0 {
            return View::Number(word >> 2);
        }
        // SAFETY: the address is that of a static, or of a box that lives as long as `self`.
        View::Value(unsafe { &*self.address() })
    }

    /// Returns the address without the bit of a box.
    fn address(&self) -> *mut T {
        self.word.as_ptr().map_addr(|address| address & !BOXED)
    }

    fn is_boxed(&self) -> bool {
        self.word.addr().get() & (BOXED | NUMBER) == BOXED
    }
}

// SAFETY: the word is a `Box<T>`, a `&'static T` or a number. They may go to another thread if T is both Send and Sync.
unsafe impl<T: Send + Sync> Send for OneWord<T> {}
// SAFETY: sharing the word shares only the T.
unsafe impl<T: Sync> Sync for OneWord<T> {}

impl<T: Clone> Clone for OneWord<T> {
    /// Clones the word. Allocates only for a box.
    fn clone(&self) -> OneWord<T> {
        match self.view() {
            View::Value(value) if self.is_boxed() => OneWord::from_box(Box::new(value.clone())),
            _ => OneWord { word: self.word, owned: PhantomData },
        }
    }
}

impl<T> Drop for OneWord<T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_boxed() {
            // SAFETY: `from_box` has leaked the box, and this is the only place that frees it.
            unsafe { drop_box(self.address()) };
        }
    }
}

/// Frees a box. A function of its own, so that dropping a word without a box stays short.
///
/// # Safety
/// The address is that of a leaked box.
#[cold]
#[inline(never)]
unsafe fn drop_box<T>(address: *mut T) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(address) });
}

impl<T: fmt::Debug> fmt::Debug for OneWord<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn box_is_dropped_once() {
        static TEXT: String = String::new();
        let word = OneWord::from_static(&TEXT);
        assert!(
            [&word, &word.clone()]
                .iter()
                .all(|word| matches!(word.view(), View::Value(text) if std::ptr::eq(text, &TEXT)))
        );
        let value = Rc::new(7);
        let boxed = OneWord::from_box(Box::new(value.clone()));
        assert_eq!((boxed.view(), Rc::strong_count(&value)), (View::Value(&value), 2));
        let copy = boxed.clone();
        assert_eq!(Rc::strong_count(&value), 3);
        drop((boxed, copy));
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn number_is_returned_unchanged() {
        for number in [0, 1, 2, 3, 0x1234_5678, (1 << NUMBER_BITS) - 1] {
            let word = OneWord::<String>::from_number(number);
            assert_eq!(word.clone().view(), View::Number(number));
        }
    }

    #[test]
    fn option_of_it_is_one_word() {
        assert_eq!(size_of::<Option<OneWord<String>>>(), size_of::<usize>());
    }
}

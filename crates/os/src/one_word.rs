//! One word that is a reference to a static value, a box of the same type, or a number: for a value that is nearly
//! always a known one and has to fit a register, such as an error.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ptr::NonNull;

/// Set in the address of a box.
const BOXED: usize = 1;
/// Set in a number, which stands above these two bits.
const NUMBER: usize = 2;

/// Bits of a number.
pub const NUMBER_BITS: u32 = usize::BITS - 2;

/// A reference that lives for ever, a box, or a number.
pub struct OneWord<T: 'static> {
    word: NonNull<T>,
    /// The box that is dropped with it.
    owned: PhantomData<Box<T>>,
}

/// The contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'a, T> {
    /// A value, static or in a box.
    Value(&'a T),
    /// A number.
    Number(usize),
}

impl<T> OneWord<T> {
    const HAS_FREE_BITS: () = assert!(align_of::<T>() > (BOXED | NUMBER), "the lowest bits of the address are needed");

    /// Refers to a static value.
    pub fn from_static(value: &'static T) -> OneWord<T> {
        let () = Self::HAS_FREE_BITS;
        OneWord { word: NonNull::from(value), owned: PhantomData }
    }

    /// Owns a value.
    pub fn from_box(value: Box<T>) -> OneWord<T> {
        let () = Self::HAS_FREE_BITS;
        let word = NonNull::from(Box::leak(value)).map_addr(|address| address | BOXED);
        OneWord { word, owned: PhantomData }
    }

    /// Holds a number of [`NUMBER_BITS`] bits; higher bits are lost.
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
        // SAFETY: the address is of a static, or of a box that lives as long as we do.
        View::Value(unsafe { &*self.address() })
    }

    /// The address without the mark.
    fn address(&self) -> *mut T {
        self.word.as_ptr().map_addr(|address| address & !BOXED)
    }

    fn is_boxed(&self) -> bool {
        self.word.addr().get() & (BOXED | NUMBER) == BOXED
    }
}

// SAFETY: it is a `Box<T>`, a `&'static T` or a number, which may go to another thread if T is both Send and Sync.
unsafe impl<T: Send + Sync> Send for OneWord<T> {}
// SAFETY: sharing it shares the T and nothing else.
unsafe impl<T: Sync> Sync for OneWord<T> {}

impl<T: Clone> Clone for OneWord<T> {
    /// Allocates for a box alone.
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
            // SAFETY: `from_box` has leaked it, and it is given back once: here.
            unsafe { drop_box(self.address()) };
        }
    }
}

/// Out of the way of the many that are dropped and have no box.
///
/// # Safety
/// The address is that of a box that was leaked.
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
    fn a_static_is_referred_to_and_a_box_is_dropped_once() {
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
    fn a_number_is_itself() {
        for number in [0, 1, 2, 3, 0x1234_5678, (1 << NUMBER_BITS) - 1] {
            let word = OneWord::<String>::from_number(number);
            assert_eq!(word.clone().view(), View::Number(number));
        }
    }

    #[test]
    fn it_is_one_word_and_leaves_room_for_success() {
        assert_eq!(size_of::<Option<OneWord<String>>>(), size_of::<usize>());
    }
}

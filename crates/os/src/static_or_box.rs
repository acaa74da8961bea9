//! One word that is a reference to something static, or a box of the same type: for a value that is nearly always a known
//! one and has to fit a register, such as an error.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// Set in the address of a box.
const BOXED: usize = 1;

/// A reference that lives for ever, or a box.
pub struct StaticOrBox<T: 'static> {
    word: NonNull<T>,
    /// What is dropped with it.
    owned: PhantomData<Box<T>>,
}

impl<T> StaticOrBox<T> {
    const HAS_FREE_BIT: () = assert!(align_of::<T>() > BOXED, "the lowest bit of the address is needed");

    /// Refers to something static.
    pub fn of_static(value: &'static T) -> StaticOrBox<T> {
        let () = Self::HAS_FREE_BIT;
        StaticOrBox { word: NonNull::from(value), owned: PhantomData }
    }

    /// Owns a value.
    pub fn of_box(value: Box<T>) -> StaticOrBox<T> {
        let () = Self::HAS_FREE_BIT;
        let word = NonNull::from(Box::leak(value)).map_addr(|address| address | BOXED);
        StaticOrBox { word, owned: PhantomData }
    }

    fn is_boxed(&self) -> bool {
        self.word.addr().get() & BOXED != 0
    }

    /// The address without the mark.
    fn address(&self) -> *mut T {
        self.word.as_ptr().map_addr(|address| address & !BOXED)
    }
}

// SAFETY: it is a `Box<T>` or a `&'static T`, which may go to another thread if T is both Send and Sync.
unsafe impl<T: Send + Sync> Send for StaticOrBox<T> {}
// SAFETY: sharing it shares the T and nothing else.
unsafe impl<T: Sync> Sync for StaticOrBox<T> {}

impl<T> Deref for StaticOrBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the address is of a static, or of a box that lives as long as we do.
        unsafe { &*self.address() }
    }
}

impl<T> Drop for StaticOrBox<T> {
    fn drop(&mut self) {
        if self.is_boxed() {
            // SAFETY: `of_box` has leaked it, and it is given back once: here.
            drop(unsafe { Box::from_raw(self.address()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for StaticOrBox<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_static_is_referred_to_and_a_box_is_dropped_once() {
        static TEXT: String = String::new();
        assert!(std::ptr::eq(&*StaticOrBox::of_static(&TEXT), &TEXT));
        let value = Rc::new(7);
        let boxed = StaticOrBox::of_box(Box::new(value.clone()));
        assert_eq!((**boxed, Rc::strong_count(&value)), (7, 2));
        drop(boxed);
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn it_is_one_word_and_leaves_room_for_success() {
        assert_eq!(size_of::<Option<StaticOrBox<String>>>(), size_of::<usize>());
    }
}

//! Values that are set once, without a lock: of the process, or of an object of it.
//!
//! A child that is forked while another thread sets a `std::sync::OnceLock` waits for that thread for ever, if it sets the value too:
//! it does not have the thread.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The value, which is never dropped once it is set.
#[derive(Debug)]
pub struct SetOnce<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> SetOnce<T> {
    /// Without a value.
    pub const fn new() -> SetOnce<T> {
        SetOnce(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, once it is set.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // Acquire pairs with the exchange in `set`.
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: null, a leaked box that `set` has put there, or what `refer` has: a shared reference to it lives for ever, and
        // `T` is Sync.
        unsafe { value.as_ref() }
    }

    /// Sets the value, unless another thread has been faster: then that one's is returned, and this one dropped.
    pub fn set(&self, value: T) -> &'static T {
        let own = Box::into_raw(Box::new(value));
        match self.0.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was a box a moment ago, and is leaked from now on.
            Ok(_) => unsafe { &*own },
            Err(other) => {
                // SAFETY: no other thread has seen it.
                drop(unsafe { Box::from_raw(own) });
                // SAFETY: as in `get`.
                unsafe { &*other }
            }
        }
    }

    /// Sets the value to one that lives for ever, without allocating, unless another thread has been faster: then that one's is
    /// returned.
    pub fn refer(&self, value: &'static T) -> &'static T {
        let own = ptr::from_ref(value).cast_mut();
        match self.0.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => value,
            // SAFETY: as in `get`.
            Err(other) => unsafe { &*other },
        }
    }
}

impl<T: Send + Sync> Default for SetOnce<T> {
    fn default() -> SetOnce<T> {
        SetOnce::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_lives_for_ever_is_set_where_it_is() {
        static VALUES: [u8; 2] = [1, 2];
        static VALUE: SetOnce<u8> = SetOnce::new();
        assert!(ptr::eq(VALUE.refer(&VALUES[0]), &raw const VALUES[0]));
        assert!(ptr::eq(VALUE.refer(&VALUES[1]), &raw const VALUES[0]), "the first stays");
        assert!(VALUE.get().is_some_and(|value| ptr::eq(value, &raw const VALUES[0])));
    }

    #[test]
    fn one_of_several_values_stays() {
        static VALUE: SetOnce<usize> = SetOnce::new();
        assert!(VALUE.get().is_none());
        let set: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..5).map(|number| scope.spawn(move || *VALUE.set(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(set.iter().all(|value| Some(value) == VALUE.get()), "{set:?}");
    }
}

/// A value of an object that is set once, and dropped with the object.
#[derive(Debug)]
pub struct OnceBox<T>(AtomicPtr<T>);

// SAFETY: it owns a `T`, and hands out shared references to it.
unsafe impl<T: Send + Sync> Sync for OnceBox<T> {}

impl<T: Send + Sync> OnceBox<T> {
    /// Without a value.
    pub const fn new() -> OnceBox<T> {
        OnceBox(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, once it is set.
    pub fn get(&self) -> Option<&T> {
        // Acquire pairs with the exchange in `set`.
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: null, or a box that `set` has put there, which stays until `self` is dropped.
        unsafe { value.as_ref() }
    }

    /// Sets the value, unless another thread has been faster: then that one's is returned, and this one dropped.
    pub fn set(&self, value: T) -> &T {
        let own = Box::into_raw(Box::new(value));
        if self.0.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: it was a box a moment ago, and no other thread has seen it.
            drop(unsafe { Box::from_raw(own) });
        }
        self.get().expect("it is set, and stays so")
    }
}

impl<T: Send + Sync> Default for OnceBox<T> {
    fn default() -> OnceBox<T> {
        OnceBox::new()
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let value = *self.0.get_mut();
        if !value.is_null() {
            // SAFETY: `set` has put a box there, and no reference to it is left.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

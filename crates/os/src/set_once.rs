//! Values that are set once, without a lock: for statics ([`SetOnce`]) and for objects ([`OnceBox`]).
//!
//! `std::sync::OnceLock` is not safe across fork: if a child is forked while another thread sets the value, and the child sets it
//! too, the child waits for ever for a thread that it does not have.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value that is set once, and never dropped.
#[derive(Debug)]
pub struct SetOnce<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> SetOnce<T> {
    /// Makes it without a value.
    pub const fn new() -> SetOnce<T> {
        SetOnce(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the value, if it was set.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // Acquire pairs with the exchange in `set`.
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: null, a box that `set` has leaked, or a static reference of `refer`. All of them live for ever, and `T` is Sync.
        unsafe { value.as_ref() }
    }

    /// Sets the value and returns it. If it is already set, drops `value` and returns the existing one.
    pub fn set(&self, value: T) -> &'static T {
        let own = Box::into_raw(Box::new(value));
        match self.0.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `own` is the address of a box, which is leaked.
            Ok(_) => unsafe { &*own },
            Err(other) => {
                // SAFETY: `own` is the address of a box, which no other thread has seen.
                drop(unsafe { Box::from_raw(own) });
                // SAFETY: as in `get`.
                unsafe { &*other }
            }
        }
    }

    /// Sets the value to a static reference, without allocating, and returns it. If it is already set, returns the existing one.
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
    fn refer_keeps_the_address() {
        static VALUES: [u8; 2] = [1, 2];
        static VALUE: SetOnce<u8> = SetOnce::new();
        assert!(ptr::eq(VALUE.refer(&VALUES[0]), &raw const VALUES[0]));
        assert!(ptr::eq(VALUE.refer(&VALUES[1]), &raw const VALUES[0]), "the first stays");
        assert!(VALUE.get().is_some_and(|value| ptr::eq(value, &raw const VALUES[0])));
    }

    #[test]
    fn first_value_stays() {
        static VALUE: SetOnce<usize> = SetOnce::new();
        assert!(VALUE.get().is_none());
        let set: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..5).map(|number| scope.spawn(move || *VALUE.set(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(set.iter().all(|value| Some(value) == VALUE.get()), "{set:?}");
    }
}

/// A value that is set once, and dropped with the object that contains it.
#[derive(Debug)]
pub struct OnceBox<T>(AtomicPtr<T>);

// SAFETY: it owns a `T`, and returns shared references to it.
unsafe impl<T: Send + Sync> Sync for OnceBox<T> {}

impl<T: Send + Sync> OnceBox<T> {
    /// Makes it without a value.
    pub const fn new() -> OnceBox<T> {
        OnceBox(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the value, if it was set.
    pub fn get(&self) -> Option<&T> {
        // Acquire pairs with the exchange in `set`.
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: null, or the box of `set`, which exists until `self` is dropped.
        unsafe { value.as_ref() }
    }

    /// Sets the value and returns it. If it is already set, drops `value` and returns the existing one.
    pub fn set(&self, value: T) -> &T {
        let own = Box::into_raw(Box::new(value));
        if self.0.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: `own` is the address of a box, which no other thread has seen.
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
            // SAFETY: the box of `set`, to which no reference is left.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

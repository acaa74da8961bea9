//! The macro that declares structures for shared memory.

/// Declares structures that may be in shared memory: they are `repr(C)`, and every field is
/// [`Shareable`](headwater_os::memory::Shareable). Under loom, whose atomics are larger, it declares only the structures.
///
/// ```
/// use std::sync::atomic::AtomicU64;
///
/// headwater_shm::shareable! {
///     /// The numbers of arrivals and departures.
///     pub struct Count {
///         pub came: AtomicU64,
///         pub went: AtomicU64,
///     }
/// }
/// ```
#[macro_export]
macro_rules! shareable {
    ($(
        $(#[$about:meta])*
        $seen:vis struct $name:ident { $( $(#[$field_about:meta])* $field_seen:vis $field:ident: $type:ty, )+ }
    )+) => { $(
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug)]
        $seen struct $name { $( $(#[$field_about])* $field_seen $field: $type, )+ }

        #[cfg(not(loom))]
        const _: () = {
            const fn is_shareable<T: $crate::Shareable>() {}
            $( is_shareable::<$type>(); )+
        };
        #[cfg(not(loom))]
        #[allow(unsafe_code, reason = "every field is checked above")]
        // SAFETY: every field is `Shareable`, checked above; padding is never read.
        unsafe impl $crate::Shareable for $name {}
    )+ };
}

//! Memory that is never freed, for values that are made in a signal handler, where the C library's allocator may not be
//! called. It takes no lock, so an interrupted thread hinders no other thread.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// The smallest size of a mapping in bytes. A larger value gets a larger mapping.
const CHUNK: usize = 64 << 10;

/// The header of a mapping.
#[repr(C, align(64))]
struct Chunk {
    /// The size of the mapping in bytes.
    len: usize,
    /// The number of bytes in use, including this header.
    used: AtomicUsize,
}

/// The mapping from which memory is taken.
static CURRENT: AtomicPtr<Chunk> = AtomicPtr::new(ptr::null_mut());

/// Stores a value for ever. Returns `None` if there is no memory.
pub fn keep<T: Send + Sync>(value: T) -> Option<&'static T> {
    let place = take(size_of::<T>(), align_of::<T>())?.cast::<T>();
    // SAFETY: the place has the value's size and alignment, and no other reference to it exists.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

/// Stores a copy of a text for ever. Returns `None` if there is no memory.
pub fn keep_text(text: &str) -> Option<&'static str> {
    let bytes = keep_all(text.bytes())?;
    Some(std::str::from_utf8(bytes).expect("a text's bytes"))
}

/// Stores a slice of values for ever. Returns `None` if there is no memory.
///
/// # Panics
/// If the iterator yields fewer or more values than its length.
pub fn keep_all<T: Copy + Send + Sync>(values: impl ExactSizeIterator<Item = T>) -> Option<&'static [T]> {
    let count = values.len();
    let place = take(size_of::<T>().checked_mul(count)?, align_of::<T>())?.cast::<MaybeUninit<T>>();
    // SAFETY: the place has room for `count` values, is aligned for them, and no other reference to it exists.
    let places = unsafe { slice::from_raw_parts_mut(place.as_ptr(), count) };
    let mut written = 0;
    for (place, value) in places.iter_mut().zip(values) {
        place.write(value);
        written += 1;
    }
    assert_eq!(written, count, "the iterator's length");
    // SAFETY: all values were written.
    Some(unsafe { slice::from_raw_parts(place.cast::<T>().as_ptr(), count) })
}

/// Returns `bytes` bytes of memory that no other call gets.
fn take(bytes: usize, align: usize) -> Option<NonNull<u8>> {
    loop {
        let chunk = CURRENT.load(Ordering::Acquire);
        if let Some(there) = NonNull::new(chunk)
            && let Some(place) = take_from(there, bytes, align)
        {
            return Some(place);
        }
        let len = size_of::<Chunk>().checked_add(bytes)?.checked_add(align)?.max(CHUNK);
        // SAFETY: a new mapping replaces nothing; it is aligned to a page, and the header fits.
        let new = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let new = mmap_anonymous(ptr::null_mut(), len, access, MapFlags::PRIVATE).ok()?.cast::<Chunk>();
            new.write(Chunk { len, used: AtomicUsize::new(size_of::<Chunk>()) });
            new
        };
        // Release: a thread that takes memory from the mapping sees its header. Pairs with the Acquire load above.
        if CURRENT.compare_exchange(chunk, new, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: the mapping was not published.
            let _ = unsafe { munmap(new.cast(), len) };
        }
    }
}

fn take_from(chunk: NonNull<Chunk>, bytes: usize, align: usize) -> Option<NonNull<u8>> {
    // SAFETY: the header of a mapping, which is never unmapped after it was published.
    let head = unsafe { chunk.as_ref() };
    let begin = |used: usize| used.checked_next_multiple_of(align);
    let next = |used| begin(used)?.checked_add(bytes).filter(|end| *end <= head.len);
    // Relaxed: the exchange only keeps two callers from getting the same bytes; a new mapping contains zeros.
    let used = head.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
    // SAFETY: within the mapping, which is aligned to a page.
    Some(unsafe { chunk.cast::<u8>().byte_add(begin(used)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_get_separate_memory() {
        std::thread::scope(|scope| {
            let kept: Vec<_> = (0..4_u64)
                .map(|thread| {
                    scope.spawn(move || {
                        let one = |number: u64| {
                            let steps = (0..(number % 50) as u32).map(|step| thread << 32 | u64::from(step));
                            let all = keep_all(steps).expect("memory");
                            (keep(thread << 32 | number).expect("memory"), all, keep_text("grün").expect("memory"))
                        };
                        (0..5_000).map(one).collect::<Vec<_>>()
                    })
                })
                .collect();
            for (thread, kept) in kept.into_iter().enumerate() {
                for (number, (one, all, text)) in kept.join().expect("no panic").into_iter().enumerate() {
                    assert_eq!(*one, (thread << 32 | number) as u64);
                    assert!(all.iter().copied().eq((0..number as u64 % 50).map(|step| (thread as u64) << 32 | step)));
                    assert_eq!(text, "grün");
                }
            }
        });
    }

    #[test]
    fn slice_may_be_larger_than_a_chunk() {
        let large = keep_all((0..CHUNK).map(|number| number * 3)).expect("memory");
        assert!(large.iter().copied().eq((0..CHUNK).map(|number| number * 3)));
        assert_eq!(keep_all([0_u8; 0].into_iter()), Some(&[][..]));
    }
}

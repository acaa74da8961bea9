//! Byte streams between two processes over memory they share: the region, the ring in it, and the eventcount by which
//! one end sleeps until the other has done something.
//!
//! The gauge's ring rows use it, and STREAMS lays its messages over it. It knows no message and no descriptor beyond
//! the memfd of the region. Everything read from shared memory is input: the other process may be hostile or dying, and
//! the worst it can do is spoil this one stream ([`Error::Corrupt`]).
//!
//! ```
//! let (mut sender, mut receiver) = headwater_shm::pair(4096, headwater_shm::Wait::Sleep)?;
//! let reader = std::thread::spawn(move || {
//!     let mut text = [0; 5];
//!     receiver.read_exact(&mut text).map(|()| text)
//! });
//! sender.write_all(b"hello")?;
//! assert_eq!(&reader.join().expect("no panic")?, b"hello");
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(unsafe_code)]

mod error;
mod eventcount;
mod layout;
mod owner;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "the one place where shared memory is dereferenced")]
mod region;
mod ring;
mod sync;
#[cfg(loom)]
#[allow(unsafe_code, reason = "loom's cells are raw pointers")]
mod twin;
mod wait;

pub use error::Error;
pub use layout::{WINDOW_MAX, WINDOW_MIN};
pub use ring::pair;
pub use ring::receiver::Receiver;
pub use ring::sender::Sender;
pub use wait::{Counters, Wait};

#[cfg(all(test, loom))]
mod loom_tests;

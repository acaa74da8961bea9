//! Byte streams between two processes over shared memory: the region, the ring in it, and the parker on which one end
//! sleeps until the other end has published something.
//!
//! The gauge measures it as the limit of what a local transport can reach; nothing else uses it. It knows no message and no
//! descriptor beyond the memfd of the region. Everything read from shared memory is input: the other process may be hostile
//! or dying, and the worst it can do is spoil this one stream ([`Error::Corrupt`]).
//!
//! ```
//! let (mut sender, mut receiver) = headwater_ring::pair(4096, headwater_ring::Wait::Sleep)?;
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
#[cfg(loom)]
mod heap_region;
mod layout;
mod owner;
mod parker;
#[cfg(not(loom))]
mod region;
mod ring;
mod wait;

#[cfg(loom)]
use heap_region::Region;
#[cfg(not(loom))]
use region::Region;

pub use error::Error;
pub use layout::{WINDOW_MAX, WINDOW_MIN};
pub use ring::pair;
pub use ring::receiver::Receiver;
pub use ring::sender::Sender;
pub use wait::{Counters, Wait};

#[cfg(all(test, loom))]
mod loom_tests;

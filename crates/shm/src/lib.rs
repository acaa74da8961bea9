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
mod limit;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "logs are written by code that names places in memory")]
pub mod logs;
mod member;
mod owner;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "references into shared memory")]
mod placed;
#[doc(hidden)]
pub mod probe;
#[cfg(not(loom))]
mod region;
mod ring;
mod shareable;
mod stages;
pub mod sync;
mod token;
#[cfg(loom)]
#[allow(unsafe_code, reason = "loom's cells are raw pointers")]
pub mod twin;
mod wait;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "copies in and out of shared memory")]
mod window;

pub use error::Error;
pub use headwater_os::memory::Shareable;
pub use layout::{Apart, WINDOW_MAX, WINDOW_MIN};
pub use limit::Limit;
pub use member::{MEMBERS, Member, Members, Membership};
#[cfg(not(loom))]
pub use placed::Placed;
pub use ring::pair;
pub use ring::receiver::Receiver;
pub use ring::sender::Sender;
pub use stages::{Stage, Stages};
pub use token::{Hold, Token, TokenWords};
#[cfg(loom)]
pub use twin::{Placed, Window};
pub use wait::{Counters, Wait};
#[cfg(not(loom))]
pub use window::Window;

#[cfg(all(test, loom))]
mod loom_tests;

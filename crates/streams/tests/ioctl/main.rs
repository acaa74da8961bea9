//! Ioctls that go down a stream: their answers, their turns, their copies, and the effects when a process on the path
//! is killed or stopped.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod copies;
mod turns;

use std::time::Duration;

use headwater_streams::{Errno, IoctlTimeout, Stream, pipe};

/// A time-out that passes in the test.
const SHORT: IoctlTimeout = IoctlTimeout::After(Duration::from_millis(60));
/// A time-out that does not pass in the test.
const LONG: IoctlTimeout = IoctlTimeout::After(Duration::from_secs(20));

/// A pipe whose first end has a module that answers ioctls.
fn answering() -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    near.push("testmod").expect("known");
    (near, far)
}

/// An ioctl with these data: what it returns, and the data that came back.
fn ask(stream: &Stream, command: u32, data: &[u8], timeout: IoctlTimeout) -> Result<(i32, Vec<u8>), Errno> {
    let mut data = data.to_vec();
    let value = stream.ioctl(command, &mut data, timeout).map_err(|error| error.errno())?;
    Ok((value, data))
}

//! The notice that a datagram goes through sockets to an endpoint of this library, because the two processes have different directories
//! of devices: `send` finds no such endpoint in its own. The datagrams arrive all the same, so no call can say it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use headwater_os::notice::Notice;
use headwater_os::socket_owner::files_beside_udp;

use super::words;
use crate::error::Result;
use crate::plumb::queue::Queue;

/// How many addresses a process looks at: each look reads the descriptors of all processes.
const LOOKS_MAX: u32 = 4;

static LOOKS: AtomicU32 = AtomicU32::new(0);
static OTHER_DIRECTORY: Notice = Notice::new();

/// No endpoint of this stream's directory has an address. Gives the notice if one of another directory has it, as far as the kernel
/// shows that.
#[cold]
pub(super) fn look(queue: &Queue<'_, '_, '_>, to: SocketAddr) -> Result<()> {
    let is_here = headwater_os::internet::source_within_machine(to, words::namespace(queue)?).is_some();
    if !is_here || LOOKS.fetch_add(1, Ordering::Relaxed) >= LOOKS_MAX {
        // Far from the end of the numbers.
        LOOKS.fetch_min(LOOKS_MAX, Ordering::Relaxed);
        return Ok(());
    }
    let addresses = queue.addresses()?;
    let own = addresses.file_identity()?;
    let found = files_beside_udp(to, addresses.driver_name()).into_iter().find(|file| file.identity != own);
    if let Some(other) = found.as_ref().and_then(|file| file.path.parent()) {
        OTHER_DIRECTORY.give(&format!(
            "the endpoint of UDP at {to} is in the directory of devices {}, and this process uses {}: datagrams between them go through \
             sockets, not through shared memory. Start both with one HEADWATER_RUNTIME_DIR",
            other.display(),
            addresses.directory_path().display()
        ));
    }
    Ok(())
}

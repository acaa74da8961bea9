//! The streams that are linked below a multiplexer, as a process knows them that has the upper stream open.
//!
//! A link is an entry in the upper stream's memory, which says that it is there; in each process that serves it, the lower stream's
//! end; and a [`Claim`], by which all other processes know that the end is taken. The kernel gives up the claim, and closes the
//! lower end, with the last process that has the upper stream open, however that ended.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use headwater_os::abstract_socket::Listener;
use headwater_os::attendant::Attendant;
use headwater_os::fork;
use headwater_os::fork_mutex::ForkMutex;
use headwater_os::per_thread::PerThread;
use headwater_shm::Limit;

use self::server::Server;
use super::device::named::links::FetchedLink;
use crate::error::{Errno, Error, Result};
use crate::head::claim::{self, Claim};
use crate::head::handle::Handle;
use crate::layout::LinkWords;
use crate::message::Message;
use crate::message::link::MuxId;
use crate::process::beyond::{ENDED, LowerStream, LowerStreams, Offered};
use crate::process::end::Role;
use crate::process::endpoint::Endpoint;
use crate::process::name::Name;
use crate::process::region::Region;

mod calls;
mod server;

/// In `LinkWords::flags`, beside [`ENDED`]: the link outlasts the upper stream (I_PLINK).
pub(crate) const PERSISTENT: u32 = 2;

/// A stream that is linked below, and served by this process.
#[derive(Debug)]
pub(crate) struct Link {
    pub id: MuxId,
    /// Its entry in the upper stream's memory.
    slot: usize,
    pub endpoint: Arc<Endpoint>,
    handles: PerThread<Handle>,
    /// What makes the link one. Locked for moments, in which no thread forks.
    held: ForkMutex<Held>,
    /// Bits that say what is waited for; see `server`.
    pub waits: AtomicU32,
}

/// What a process has of a link until it is undone.
#[derive(Debug)]
struct Held {
    /// Of the lower end, and of the entry.
    claims: Option<[Claim; 2]>,
    /// Hands it to others that have the upper stream open by its name.
    attendant: Option<Attendant>,
}

/// In `Link::waits`: something for the lower stream waits in the upper one until there is room.
pub(crate) const FOR_ROOM: u32 = 1;
/// What has come up the lower stream waits there until there is room in the upper one.
pub(crate) const FOR_ROOM_ABOVE: u32 = 2;

impl Link {
    pub fn new(id: MuxId, slot: usize, endpoint: Arc<Endpoint>, claims: [Claim; 2]) -> Link {
        let held = ForkMutex::new(Held { claims: Some(claims), attendant: None });
        Link { id, slot, endpoint, handles: PerThread::default(), held, waits: AtomicU32::new(0) }
    }

    /// Hands the link to others that have the upper stream open by its name. They come to `listener`.
    fn attend(&self, name: &Name, listener: Listener) -> Result<()> {
        let attendant = self.held.with(|held| {
            let claims = held.claims.as_ref().map(|claims| claims.each_ref().map(Claim::as_fd));
            claims.map(|claims| name.hand_over(listener, &self.endpoint, claims)).transpose()
        })?;
        self.held.with(|held| held.attendant = attendant);
        Ok(())
    }

    /// In a forked child: its own attendant, which it does not have yet.
    fn attend_here(&self) {
        if let Some(attendant) = self.held.with(|held| held.attendant.take()) {
            let here = attendant.here().ok();
            self.held.with(|held| held.attendant = here);
        }
    }

    /// Calls `action` with a handle of the lower stream that waits no longer than `limit`.
    ///
    /// Errors: those of `action`, none of which is fatal for the upper stream; `EAGAIN` for a thread that is in the middle of a
    /// call there.
    pub fn with<T>(&self, limit: Limit, action: impl FnOnce(&mut Handle) -> Result<T>) -> Result<T> {
        let mut handle = self.handles.get(|| Handle::on(self.endpoint.clone()));
        if handle.is_nested() {
            return Err(headwater_shm::Error::WouldBlock.into());
        }
        (handle.end.role, handle.nested) = (Role::Multiplexer, true);
        handle.attach().map_err(of_lower)?;
        handle.end.set_limit(limit);
        action(&mut handle).map_err(of_lower)
    }

    /// Whether the driver was told that the lower stream has ended.
    pub fn has_ended(&self, upper: &Region) -> bool {
        self.words(upper).flags.load(Ordering::Relaxed) & ENDED != 0
    }

    /// Whether the link has not been undone.
    pub fn is_current(&self, upper: &Region) -> bool {
        self.words(upper).id.load(Ordering::Acquire) == self.id.number()
    }

    pub fn words<'r>(&self, upper: &'r Region) -> &'r LinkWords {
        &upper.fixed.device.links[self.slot]
    }

    /// Gives the lower end back, in all processes: its users go on with it.
    pub fn undo(&self) -> Result<()> {
        let (claims, attendant) = self.held.with(|held| (held.claims.take(), held.attendant.take()));
        drop(attendant);
        claims.into_iter().flatten().try_for_each(Claim::give_up)?;
        self.free()
    }

    /// If no process has the claim any more, lets the users of the end go on.
    fn free(&self) -> Result<()> {
        claim::free(&mut Handle::on(self.endpoint.clone()))
    }
}

impl LowerStream for Link {
    fn id(&self) -> MuxId {
        self.id
    }

    fn slot(&self) -> usize {
        self.slot
    }

    fn can_put(&self, limit: Limit, band: u8) -> Result<bool> {
        self.with(limit, |lower| lower.run_inside(true, limit, |run| run.can_put_from(0, band)))
    }

    fn ask_for_room(&self, limit: Limit, band: u8) -> Result<bool> {
        self.with(limit, |lower| {
            lower.end.look_for_peer()?;
            // Behind a hang-up nothing makes room: the message is refused.
            Ok(lower.end.peer_gone || !lower.arm_to_write(band)?)
        })
    }

    fn note_wait_for_room(&self) -> bool {
        self.waits.fetch_or(FOR_ROOM, Ordering::AcqRel) & FOR_ROOM == 0
    }

    fn put(&self, limit: Limit, message: Message<'_>) -> Result<()> {
        self.with(limit, |lower| {
            lower.end.look_for_peer()?;
            if lower.end.peer_gone {
                return Err(Error::new(Errno::Nxio, "the other end of the lower stream is gone"));
            }
            lower.run_inside(true, limit, |run| run.put(0, message))
        })
    }

    fn has_something(&self, upper: &Region) -> bool {
        let looked = self.with(Limit::Now, |lower| {
            Ok(lower.back.is_readable() || !self.has_ended(upper) && lower.end_as_message()?.is_some())
        });
        looked.unwrap_or(false)
    }

    fn offer_front(&self, offer: &mut dyn FnMut(Message<'static>) -> Result<bool>) -> Result<Offered> {
        // What waits in the lower stream is served without waiting for a lock.
        self.with(Limit::Now, |lower| lower.offer_front(offer))
    }

    fn end_as_message(&self) -> Result<Option<Message<'static>>> {
        self.with(Limit::Now, Handle::end_as_message)
    }

    fn end_wait_for_room_above(&self) -> bool {
        self.waits.load(Ordering::Relaxed) & FOR_ROOM_ABOVE != 0
            && self.waits.fetch_and(!FOR_ROOM_ABOVE, Ordering::AcqRel) & FOR_ROOM_ABOVE != 0
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Held { claims, attendant } = self.held.get_mut();
        // It has copies of the descriptors.
        *attendant = None;
        *claims = None;
        // The next user of the end finds out, should this fail.
        let _ = self.free();
    }
}

/// An error of a lower stream is one of the operation on it, and ends no more than that.
fn of_lower(error: Error) -> Error {
    if error.is_fatal() { Error::new(error.errno(), format!("the lower stream: {error}")) } else { error }
}

/// The streams that are linked below an upper one, in this process.
#[derive(Debug, Default)]
pub(crate) struct Links {
    table: ForkMutex<Table>,
    /// Raised when the table is changed.
    version: AtomicU32,
}

#[derive(Debug, Default)]
struct Table {
    links: Vec<Arc<Link>>,
    server: Option<Server>,
}

impl Links {
    /// Adds a link, which this process serves from now on.
    ///
    /// Errors: `EMFILE` without four free descriptors; `EAGAIN` if the process may have no more threads.
    pub fn add(self: &Arc<Links>, upper: &Endpoint, link: Link) -> Result<()> {
        self.serve(upper)?;
        if let Some(name) = upper.name() {
            link.attend(name, name.listen_for_link(link.id)?)?;
        }
        self.insert(link);
        Ok(())
    }

    /// Fetches the links that other processes have made, as far as they hand them over.
    ///
    /// Errors: as [`Links::add`]; `EPROTO` for something else.
    fn fetch(self: &Arc<Links>, upper: &Endpoint, name: &Name) -> Result<()> {
        let known: Vec<u32> = self.all().iter().map(|link| link.id.number()).collect();
        for (slot, words) in upper.region.fixed.device.links.iter().enumerate() {
            let id = MuxId::new(words.id.load(Ordering::Acquire)).filter(|id| !known.contains(&id.number()));
            let Some(id) = id else { continue };
            let Some(fetched) = name.fetch_link(id, &upper.region, slot)? else { continue };
            self.serve(upper)?;
            let FetchedLink { lower, claims, listener } = fetched;
            let link = Link::new(id, slot, lower.end.endpoint.clone(), claims);
            link.attend(name, listener)?;
            self.insert(link);
        }
        Ok(())
    }

    fn insert(&self, link: Link) {
        self.table.with(|table| table.links.push(Arc::new(link)));
        self.changed();
    }

    /// Takes a link away. It is undone when the last call that uses it returns.
    pub fn remove(&self, id: MuxId) -> Option<Arc<Link>> {
        let removed = self.table.with(|table| {
            let at = table.links.iter().position(|link| link.id == id)?;
            Some(table.links.remove(at))
        });
        self.changed();
        removed
    }

    /// The link of that id, if this process has it.
    pub fn find(&self, id: MuxId) -> Option<Arc<Link>> {
        self.table.with(|table| table.links.iter().find(|link| link.id == id).cloned())
    }

    pub fn all(&self) -> Vec<Arc<Link>> {
        self.table.with(|table| table.links.clone())
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.table.with(|table| table.server.as_ref().map(Server::wake));
    }

    /// Has a thread of this process take what comes up from below, if there is none yet.
    pub fn serve(self: &Arc<Links>, upper: &Endpoint) -> Result<()> {
        if self.table.with(|table| table.server.as_ref().is_some_and(Server::is_here)) {
            return Ok(());
        }
        let server = Server::start(upper, self)?;
        // Of a forked child's parent, or of another thread that was faster.
        let other = self.table.with(|table| match &table.server {
            Some(other) if other.is_here() => Some(server),
            _ => table.server.replace(server),
        });
        self.version.fetch_add(1, Ordering::AcqRel);
        if other.is_some() {
            self.all().iter().for_each(|link| link.attend_here());
        }
        drop(other);
        Ok(())
    }

    /// The upper stream is closed in this process.
    pub fn close(&self) {
        let Table { links, server } = self.table.with(std::mem::take);
        drop(server);
        drop(links);
    }
}

/// What a handle of the upper stream knows of the links.
#[derive(Debug, Default)]
pub(crate) struct KnownLinks {
    /// The version of [`Links`] that this is, plus one.
    version: u64,
    /// The process that the server is of.
    epoch: u64,
    links: Vec<Weak<Link>>,
    server: Option<Arc<server::Shared>>,
    /// How many changes in the upper stream's memory were looked at; 0: they are to be looked at again.
    changes: AtomicU32,
}

impl KnownLinks {
    /// Looks whether this process has changed anything. In a forked child it starts the child's own server.
    fn refresh(&mut self, links: &Arc<Links>, upper: &Endpoint) -> Result<()> {
        let version = u64::from(links.version.load(Ordering::Acquire)) + 1;
        if version == self.version && self.epoch == fork::epoch() {
            return Ok(());
        }
        if self.epoch != fork::epoch() {
            links.serve(upper)?;
        }
        self.read(links);
        Ok(())
    }

    /// Reads the links anew.
    pub fn read(&mut self, links: &Links) {
        self.version = u64::from(links.version.load(Ordering::Acquire)) + 1;
        self.epoch = fork::epoch();
        links.table.with(|table| {
            self.links = table.links.iter().map(Arc::downgrade).collect();
            self.server = table.server.as_ref().map(Server::shared);
        });
    }

    /// Those of the server, which looks again by itself.
    pub fn of_server(links: &Links) -> KnownLinks {
        let mut known = KnownLinks::default();
        known.read(links);
        known.server = None;
        known
    }
}

impl LowerStreams for KnownLinks {
    fn look(&mut self, upper: &Endpoint) -> Result<()> {
        let changes = upper.region.fixed.device.links_changed.load(Ordering::Acquire);
        if let Some(name) = upper.name()
            && self.changes.swap(changes, Ordering::Relaxed) != changes
        {
            upper.links_or_none_yet().fetch(upper, name)?;
        }
        upper.links().map_or(Ok(()), |links| self.refresh(links, upper))
    }

    fn find(&self, upper: &Region, id: MuxId) -> Result<Option<Arc<dyn LowerStream>>> {
        let current = self.links.iter().filter_map(Weak::upgrade).filter(|link| link.is_current(upper));
        if let Some(link) = current.into_iter().find(|link| link.id == id) {
            return Ok(Some(link));
        }
        // The next call asks for it again.
        self.changes.store(0, Ordering::Relaxed);
        let words = &upper.fixed.device.links;
        let slot = words.iter().position(|link| link.id.load(Ordering::Acquire) == id.number());
        match slot.map(|slot| claim::is_alive(upper, slot, id)).transpose()? {
            Some(true) => Ok(None),
            _ => Err(Error::new(Errno::Nxio, format!("no stream is linked below as {}", id.number()))),
        }
    }

    fn each(&self, upper: &Region, action: &mut dyn FnMut(&dyn LowerStream) -> ControlFlow<()>) {
        let mut current = self.links.iter().filter_map(Weak::upgrade).filter(|link| link.is_current(upper));
        let _ = current.try_for_each(|link| action(&*link));
    }

    fn wake_server(&self) {
        if let Some(server) = &self.server {
            server.wake();
        }
    }
}

//! The queue that a thread works on: that of the innermost procedure in C which the thread runs. And the ways to queues
//! from elsewhere.
//!
//! A function of the DDI gets a `queue_t`. If a procedure of the same module runs, the function works on the stream by
//! the [`Queue`] of that procedure. In a thread or a timer without a procedure, it enters the stream first. In a
//! procedure of another stream, it leaves the work to the library's thread: a thread that waits for a second stream
//! could wait for a thread that waits for the first.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::time::Duration;

use headwater_streams::{Errno, Error, Message, Queue, Result, Side};

use super::instance::{Located, Pair, own_credentials};
use super::types::{CQueue, Mblk, Qinit};
use super::{convert, queue};

/// How long a thread sleeps before it tries again, when another user of the stream holds its lock.
const REST: Duration = Duration::from_millis(1);

/// A procedure of C that runs in this thread.
pub struct Context {
    pub pair: *const Pair,
    pub side: Side,
    /// Null in a close procedure without a stream.
    queue: *mut Queue<'static, 'static, 'static>,
    /// The first failure of an operation. The procedure fails with it.
    error: Option<Error>,
    /// A panic of another module. It continues after the procedure of C has returned.
    panic: Option<Box<dyn Any + Send>>,
    /// The messages that an open procedure of a driver has sent up. They are sent when the procedure has returned.
    pub held_back: Option<Vec<Message<'static>>>,
    /// The blocks that stand for the messages of a frozen queue.
    pub frozen: Vec<*mut Mblk>,
    outer: *mut Context,
}

thread_local! {
    static INNERMOST: Cell<*mut Context> = const { Cell::new(ptr::null_mut()) };
}

/// Where an operation on a queue is done.
pub enum Place<'a> {
    /// By the running procedure's queue.
    Own(&'a mut Context),
    /// By the running procedure's queue, on the module's other queue.
    Other(&'a mut Context),
    /// Nowhere: the operation is in a close procedure without a stream.
    Nowhere,
    /// In another stream, while a procedure runs.
    Elsewhere(&'a Pair, Side),
    /// In a stream that is entered first, because no procedure runs.
    Outside(&'a Pair, Side),
}

/// Finds where an operation on a queue is done, and which queue is meant. Returns `None` if `queue` is no queue of this
/// library.
///
/// # Safety
/// `queue` is null or a queue.
pub unsafe fn locate<'a>(queue: *mut CQueue) -> Option<(Place<'a>, Located)> {
    // SAFETY: the caller promises that `queue` is null or a queue.
    let (pair, located) = unsafe { Pair::find(queue) }?;
    // SAFETY: INNERMOST is null or a context of this thread, which lives while its procedure runs. Only one reference
    // to it is in use.
    let innermost = unsafe { INNERMOST.get().as_mut() };
    let place = match innermost {
        None => Place::Outside(pair, located.side),
        Some(context) if !ptr::eq(context.pair, pair) => Place::Elsewhere(pair, located.side),
        Some(context) if context.queue.is_null() => Place::Nowhere,
        Some(context) if context.side == located.side => Place::Own(context),
        Some(context) => Place::Other(context),
    };
    Some((place, located))
}

/// Returns whether a procedure of C runs in this thread.
pub fn is_in_procedure() -> bool {
    !INNERMOST.get().is_null()
}

impl Context {
    /// Calls `action` with the procedure's queue. Returns `None` if `action` fails; the procedure then fails when it
    /// returns.
    pub fn run<T>(&mut self, action: impl FnOnce(&mut Queue<'static, 'static, 'static>) -> Result<T>) -> Option<T> {
        if self.panic.is_some() {
            return None;
        }
        // SAFETY: the queue lives while the procedure runs, and this is its only use: operations of procedures that run
        // in here have contexts of their own. The lifetimes of its type are longer than its own. Nothing outlives it by
        // that: messages that go in own their bytes, and those that come out are turned into blocks at once.
        let queue = unsafe { &mut *self.queue };
        match catch_unwind(AssertUnwindSafe(|| action(queue))) {
            Ok(Ok(done)) => Some(done),
            Ok(Err(error)) => {
                self.error.get_or_insert(error);
                None
            }
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }

    /// Makes the procedure fail with this error, unless it has failed already.
    pub fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Copies the state of the queue to the fields that C reads.
    pub fn refresh(&mut self) {
        let pair = self.pair;
        // SAFETY: the procedure of this context runs, and a pair outlives its procedures.
        let pair = unsafe { &*pair };
        self.run(|queue| {
            pair.refresh(queue);
            Ok(())
        });
    }
}

/// Runs a procedure of C in the context of a queue.
pub fn with_context<T>(
    pair: &Pair,
    queue: &mut Queue<'_, '_, '_>,
    holds_back: bool,
    procedure: impl FnOnce() -> T,
) -> Result<T> {
    let side = queue.side();
    queue.wait_for_others();
    pair.set_reference(queue);
    pair.refresh(queue);
    let held_back = holds_back.then(Vec::new);
    let queue: *mut Queue<'static, 'static, 'static> = (&raw mut *queue).cast();
    let (done, mut context) = within(pair, side, queue, held_back, procedure);
    for message in context.held_back.take().unwrap_or_default() {
        context.run(|queue| queue.reply(message));
    }
    if let Some(panic) = context.panic {
        resume_unwind(panic);
    }
    context.error.map_or(Ok(done), Err)
}

fn within<T>(
    pair: &Pair,
    side: Side,
    queue: *mut Queue<'static, 'static, 'static>,
    held_back: Option<Vec<Message<'static>>>,
    procedure: impl FnOnce() -> T,
) -> (T, Context) {
    let outer = INNERMOST.get();
    let (error, panic, frozen) = (None, None, Vec::new());
    let mut context = Context { pair, side, queue, error, panic, held_back, frozen, outer };
    // The pointer stays valid: the context outlives the procedure, after which the outer context is set again.
    INNERMOST.set(&raw mut context);
    let done = procedure();
    INNERMOST.set(context.outer);
    queue::thaw(&mut context);
    (done, context)
}

/// Calls the close procedure of a module whose queues are no longer part of a stream.
pub fn close_detached(pair: &Pair) {
    let queue = pair.queue(Side::Read);
    let (_, _context) = within(pair, Side::Read, ptr::null_mut(), None, || close(queue));
}

/// Calls the close procedure.
pub fn close(queue: *mut CQueue) {
    // SAFETY: `queue` is one of a pair, and its close procedure is that of its qinit, so it has this type.
    unsafe {
        if let Some(close) = (*queue).qinfo.as_ref().and_then(|qinit| qinit.close) {
            close(queue, 0, own_credentials());
        }
    }
}

/// Enters the stream of a queue from outside of procedures, and calls `action` there as a procedure. Waits while
/// another user of the stream holds its lock. Returns `None` if the stream or the module is gone, or if the procedure
/// fails.
pub fn enter<T>(pair: &Pair, side: Side, mut action: impl FnMut(&mut Context) -> Option<T>) -> Option<T> {
    loop {
        match try_enter(pair, side, &mut action) {
            Err(error) if error.is_held() && error.errno() != Errno::Inval => std::thread::sleep(REST),
            done => return done.ok().flatten(),
        }
    }
}

/// Enters a stream as [`enter`], without waiting.
///
/// Errors: one for which `is_held` holds if another user of the stream holds its lock; `action` was then not called.
pub fn try_enter<T>(pair: &Pair, side: Side, action: impl FnOnce(&mut Context) -> Option<T>) -> Result<Option<T>> {
    let (mut action, mut done) = (Some(action), None);
    enter_once(pair, side, &mut |context| done = action.take().and_then(|action| action(context)))?;
    Ok(done)
}

/// Enters a stream. The code is long, so it is a function that the library has once, and not once for each action.
#[inline(never)]
fn enter_once(pair: &Pair, side: Side, action: &mut dyn FnMut(&mut Context)) -> Result<()> {
    let reference = pair.reference(side);
    let reference = reference.ok_or_else(|| Error::new(Errno::Nxio, "no procedure of the module has run here"))?;
    reference.with(|queue| {
        with_context(pair, queue, false, || {
            // SAFETY: `with_context` has set INNERMOST, and no other reference to the context is in use now.
            unsafe { INNERMOST.get().as_mut() }.into_iter().for_each(action);
        })
    })
}

/// Returns the qinit of the queues that stand for those behind. Its put procedure is called by a module in C that calls
/// the put procedure of the next queue itself.
pub fn behind_qinit() -> *mut Qinit {
    static BEHIND: Qinit = Qinit {
        put: Some(put_behind),
        service: None,
        open: None,
        close: None,
        admin: None,
        info: ptr::null_mut(),
        statistics: ptr::null_mut(),
    };
    (&raw const BEHIND).cast_mut()
}

// SAFETY: a Qinit is never written once a module is registered.
unsafe impl Sync for Qinit {}

unsafe extern "C" fn put_behind(queue: *mut CQueue, mp: *mut Mblk) -> c_int {
    // SAFETY: C calls this with a queue that has this qinit, and with a message that it owns.
    unsafe { queue::put(queue, mp) };
    0
}

/// Makes the message of blocks of C. Returns `None`, and notes the error, if they make none.
///
/// # Safety
/// `mp` is a message that the caller owns.
pub unsafe fn message_of(mp: *mut Mblk, context: Option<&mut Context>) -> Option<Message<'static>> {
    // SAFETY: the caller owns the message `mp`.
    match unsafe { convert::to_message(mp) } {
        Ok(message) => Some(message),
        Err(error) => {
            if let Some(context) = context {
                context.fail(error);
            }
            None
        }
    }
}

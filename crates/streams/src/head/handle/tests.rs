//! Another user stays in the middle of a call with the lock of a store: how long calls wait for it whose modules'
//! procedures need the store, and which user completes the remaining work.

use crate::options::Options;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;
use crate::Flush;
use crate::error::{Errno, Error};
use crate::message::Message;
use crate::plumb::module::{Module, ModuleInfo};
use crate::plumb::queue::Queue;
use crate::queue::store::HEAD;

/// Longer than a call that does not wait takes, and shorter than one that does.
const LONG: Duration = Duration::from_secs(5);

/// A thread that has the lock of the store of a direction, as a process that is stopped there.
struct Holder {
    thread: JoinHandle<Handle>,
    let_go: Sender<()>,
}

impl Holder {
    /// The store of the direction that the handle reads.
    fn of_store(handle: Handle) -> Holder {
        Holder::new(handle, true)
    }

    /// `serves`: does when it comes out what any call that reads does.
    fn new(mut handle: Handle, serves: bool) -> Holder {
        let (holds, is_held) = channel();
        let (let_go, told) = channel::<()>();
        let thread = std::thread::spawn(move || {
            handle.attach().expect("a place");
            let (_, me, _) = handle.end.parts();
            let mut store = handle.back.store.side(me);
            store.lock().expect("it is free");
            holds.send(()).expect("the test waits");
            let _ = told.recv();
            drop(store);
            if serves {
                handle.after_taking(false);
            }
            handle
        });
        is_held.recv().expect("it is held");
        Holder { thread, let_go }
    }

    fn let_go(self) -> Handle {
        drop(self.let_go);
        self.thread.join().expect("no panic")
    }
}

fn ends(modules: &[&str]) -> (Handle, Handle) {
    let (mut near, far) = Options { hiwat: 1000, lowat: 500, ..Options::default() }.pair().expect("pipe");
    modules.iter().for_each(|name| near.push(name).expect("known"));
    (near, far)
}

/// Runs `action` in a thread, which is left behind if it does not end in time.
fn within<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let _ = tell.send(action());
    });
    told.recv_timeout(LONG).expect("it waits for the holder")
}

fn held(error: &Error, errno: Errno) {
    assert!(error.is_held() && error.errno() == errno, "{error} ({:?})", error.errno());
}

#[test]
fn a_message_through_modules_does_not_wait_for_the_holder_of_a_store() {
    for modules in [&[][..], &["nullmod"], &["srvmod"], &["srvmod", "srvmod"]] {
        let (mut near, far) = ends(modules);
        near.set_nonblocking(true).expect("arm");
        let holder = Holder::of_store(far.another());
        let mut near = within(move || {
            for _ in 0..2 {
                held(&near.putpmsg(Some(b"lost"), None, 1).expect_err("it has no place"), Errno::Again);
            }
            near
        });
        drop(holder.let_go());
        near.putpmsg(Some(b"sent"), None, 1).expect("free");
        let mut far = far;
        let got = far.receive().expect("whole").expect("one");
        assert_eq!(got.control(), Some(&b"sent"[..]), "{modules:?}");
        far.set_nonblocking(true).expect("arm");
        assert_eq!(far.receive().expect_err("nothing was sent twice").errno(), Errno::Again);
    }
}

#[test]
fn a_poll_and_a_pop_do_not_wait_for_the_holder_of_a_store() {
    let (mut near, far) = ends(&["srvmod"]);
    near.set_nonblocking(true).expect("arm");
    let holder = Holder::of_store(far.another());
    let mut near = within(move || {
        let start = Instant::now();
        near.poll(crate::Events::WRBAND, Some(Duration::from_millis(30))).expect("no error");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        held(&near.pop().expect_err("its queues cannot be emptied"), Errno::Again);
        assert_eq!(near.list().expect("whole"), ["srvmod"]);
        held(&near.flush_queues(Flush::ALL).expect_err("held"), Errno::Again);
        near
    });
    drop(holder.let_go());
    near.pop().expect("free");
    assert!(near.list().expect("whole").is_empty());
}

#[test]
fn what_a_service_procedure_could_not_pass_on_is_passed_on_when_the_store_is_free() {
    let (mut near, mut far) = ends(&["srvmod"]);
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    let mut written = 0;
    while let Ok(count) = near.write(&[1; 100]) {
        written += count;
    }
    let mut read = 0;
    let holder = Holder::of_store(far.another());
    let (mut far, read_meanwhile) = within(move || {
        let mut buffer = [0; 300];
        loop {
            match far.read(&mut buffer) {
                Ok(count) => read += count,
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Again, "{error}");
                    return (far, read);
                }
            }
        }
    });
    assert!(read_meanwhile < written, "something waits in the module's queue");
    drop(holder.let_go());
    // The former holder of the store has run the service procedure.
    assert!(far.back.is_readable(), "what waits was forgotten");
    let mut read = read_meanwhile;
    while let Ok(count) = far.read(&mut [0; 300]) {
        read += count;
    }
    assert_eq!(read, written);
}

/// Its service procedure keeps the first message that it takes, and then makes another user take the store's lock
/// before it passes the message on.
#[derive(Debug)]
struct Later;

static KEEPS: AtomicBool = AtomicBool::new(true);
/// Its put procedure passes on an older message before it queues the new one.
static TAKES_OLDER: AtomicBool = AtomicBool::new(false);
/// For the tests that use the module.
static LATER: std::sync::Mutex<()> = std::sync::Mutex::new(());
static BEFORE_PASSING: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>> = std::sync::Mutex::new(None);

impl Module for Later {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { services: [true, true], ..ModuleInfo::new("later") }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if TAKES_OLDER.load(Ordering::Relaxed)
            && let Some(older) = queue.get()?
        {
            if let Some(action) = BEFORE_PASSING.lock().expect("no panic").take() {
                action();
            }
            queue.put_next(older)?;
        }
        queue.put_queue(message)
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        while let Some(message) = queue.get()? {
            if KEEPS.load(Ordering::Relaxed) {
                return queue.put_back(&message);
            }
            if let Some(action) = BEFORE_PASSING.lock().expect("no panic").take() {
                action();
            }
            queue.put_next(message)?;
        }
        Ok(())
    }
}

fn with_later() -> std::sync::MutexGuard<'static, ()> {
    static KNOWN: std::sync::Once = std::sync::Once::new();
    KNOWN.call_once(|| crate::register(Later).expect("a free name"));
    LATER.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn what_a_put_procedure_had_got_goes_back_when_the_call_is_given_up() {
    let _alone = with_later();
    KEEPS.store(true, Ordering::Relaxed);
    let (mut near, mut far) = ends(&["later"]);
    near.putpmsg(Some(b"one"), None, 1).expect("room");
    near.set_nonblocking(true).expect("arm");
    let (tell, told) = channel();
    let other = far.another();
    let hold = move || tell.send(Holder::new(other, false)).expect("there");
    *BEFORE_PASSING.lock().expect("no panic") = Some(Box::new(hold));
    TAKES_OLDER.store(true, Ordering::Relaxed);
    let mut near = within(move || {
        held(&near.putpmsg(Some(b"two"), None, 1).expect_err("the store is held"), Errno::Again);
        near
    });
    TAKES_OLDER.store(false, Ordering::Relaxed);
    KEEPS.store(false, Ordering::Relaxed);
    drop(told.recv().expect("it was held").let_go());
    near.putpmsg(Some(b"two"), None, 1).expect("free");
    for text in [b"one", b"two"] {
        assert_eq!(far.receive().expect("whole").expect("one").control(), Some(&text[..]));
    }
}

#[test]
fn a_service_procedure_that_was_given_up_is_run_again_by_who_comes_next() {
    let _alone = with_later();
    for (between, serves) in [(false, true), (false, false), (true, true), (true, false)] {
        let case = format!("held between get and put: {between}, the holder serves: {serves}");
        KEEPS.store(true, Ordering::Relaxed);
        // The first of the path is the last pushed: it is not asked only because there is room at the head.
        let (mut near, mut far) = ends(&[]);
        // Data in the lane is no reason to run service procedures: it is above the low-water mark.
        near.write(&[0; 600]).expect("room");
        ["srvmod", "later"].iter().for_each(|name| near.push(name).expect("known"));
        near.putpmsg(Some(b"one"), None, 1).expect("room");
        near.putpmsg(Some(b"two"), None, 1).expect("room");
        far.set_nonblocking(true).expect("arm");
        assert!(far.drain_back().expect("whole"), "plain data are there");
        assert!(far.back.store.is_empty(HEAD), "{case}");
        KEEPS.store(false, Ordering::Relaxed);
        let (tell, told) = channel();
        let other = far.another();
        let hold = move || tell.send(Holder::new(other, serves)).expect("there");
        if between {
            *BEFORE_PASSING.lock().expect("no panic") = Some(Box::new(hold))
        } else {
            hold()
        }
        let mut far = within(move || {
            assert!(far.drain_back().expect("no error"), "plain data are there");
            far
        });
        assert!(far.back.store.is_empty(HEAD), "{case}");
        drop(told.recv().expect("it was held").let_go());
        if !serves {
            far.serve_owed(false).expect("whole");
        }
        assert!(!far.back.store.is_empty(HEAD), "{case}");
        for text in [b"one", b"two"] {
            let got = far.receive().expect("whole").expect("one");
            assert_eq!(got.control(), Some(&text[..]), "{case}");
        }
        assert_eq!(far.receive().expect("whole").expect("the plain data").data_len(), Some(600));
        assert_eq!(far.receive().expect_err("each once").errno(), Errno::Again, "{case}");
    }
}

/// Sends two messages for one, and makes another user take the store's lock in between.
#[derive(Debug)]
struct Twice;

static BETWEEN: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>> = std::sync::Mutex::new(None);

impl Module for Twice {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("twice")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.put_next(message.clone())?;
        if let Some(action) = BETWEEN.lock().expect("no panic").take() {
            action();
        }
        queue.put_next(message)
    }
}

#[test]
fn what_a_call_has_begun_is_completed() {
    crate::register(Twice).expect("a free name");
    let (mut near, far) = ends(&["twice"]);
    near.set_nonblocking(true).expect("arm");
    let (tell, told) = channel();
    let other = far.another();
    *BETWEEN.lock().expect("no panic") = Some(Box::new(move || tell.send(Holder::of_store(other)).expect("there")));
    let writer = std::thread::spawn(move || near.putpmsg(Some(b"two"), None, 1).map(|()| near));
    let holder = told.recv().expect("it is held");
    std::thread::sleep(Duration::from_millis(100));
    assert!(!writer.is_finished(), "one of two was sent");
    drop(holder.let_go());
    let _near = writer.join().expect("no panic").expect("complete");
    let mut far = far;
    for _ in 0..2 {
        assert_eq!(far.receive().expect("whole").expect("one").control(), Some(&b"two"[..]));
    }
}

/// Sends every message in a band, which is not in the lane.
#[derive(Debug)]
struct Banded;

impl Module for Banded {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("banded")
    }

    fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        message.header.band = 1;
        queue.put_next(message)
    }
}

#[test]
fn a_short_write_goes_by_what_another_thread_has_made_of_the_end() {
    crate::register(Banded).expect("a free name");
    let (mut near, far) = ends(&["banded"]);
    near.write(b"a").expect("room");
    near.write(b"b").expect("room");
    // As `Stream` does before each call.
    near.nonblocking = true;
    let holder = Holder::of_store(far.another());
    let near = within(move || {
        held(&near.write(b"c").expect_err("the store is held"), Errno::Again);
        near
    });
    drop((holder.let_go(), near));
}

/// What gives back pages, flushes or closes holds the lock of a direction and does not read its modules.
#[test]
fn a_holder_that_reads_no_modules_leaves_them_to_the_next_one() {
    let (mut near, mut far) = Options::new().pair().expect("pipe");
    near.push("nullmod").expect("it is known");
    far.attach().expect("a place");
    let me = far.end.me();
    drop(far.out.writer.hold_apart(me).expect("free"));
    drop(far.back.reader.hold_apart(me).expect("free"));
    far.write(b"through the module").expect("room");
    assert_eq!(far.out.chain.len(), 1, "the module is on the way");
}

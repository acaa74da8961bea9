//! When the procedures of a module are called, and the effects when they fail or panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use headwater_streams::{
    Errno, Error, Events, Kind, Message, Module, ModuleInfo, Next, Queue, ReadOptions, Result, Stream, pipe, register,
};

fn with_module(module: impl Module + 'static) -> (Stream, Stream) {
    let name = module.info().name;
    register(module).expect("new");
    let (near, far) = pipe().expect("pipe");
    near.push(name).expect("known");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// Counts calls of `close`; refuses to be opened.
#[derive(Debug)]
struct Refusing;

static CLOSED: AtomicU32 = AtomicU32::new(0);

impl Module for Refusing {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("refusing")
    }

    fn open(&self, _: &mut Queue<'_, '_, '_>) -> Result<()> {
        Err(Error::new(Errno::new(28), "no room for another"))
    }

    fn close(&self) {
        CLOSED.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_module_that_was_not_opened_is_not_closed() {
    register(Refusing).expect("new");
    let (near, far) = pipe().expect("pipe");
    assert_eq!(near.push("refusing").expect_err("refused").errno(), Errno::new(28));
    assert_eq!((CLOSED.load(Ordering::Relaxed), near.modules().list().expect("fine").len()), (0, 0));
    near.write(b"x").expect("as before");
    assert_eq!(far.read(&mut [0; 9]).expect("there"), 1);
}

/// Counts calls of `close`.
#[derive(Debug)]
struct Closing;

static LAST_CLOSES: AtomicU32 = AtomicU32::new(0);

impl Module for Closing {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("closing")
    }

    fn close(&self) {
        LAST_CLOSES.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn modules_are_closed_once_with_the_last_handle_or_when_popped() {
    let closes = || LAST_CLOSES.load(Ordering::Relaxed);
    let (near, far) = with_module(Closing);
    let mut other = near.direct();
    other.write(b"x").expect("room");
    near.push("closing").expect("known");
    near.pop().expect("pushed");
    assert_eq!(closes(), 1);
    near.push("closing").expect("known");
    drop(near);
    assert_eq!(closes(), 1, "another handle is in use");
    drop(other);
    assert_eq!(closes(), 3, "both modules of the end");
    assert_eq!(far.read(&mut [0; 9]).expect("there"), 1);
    far.push("closing").expect("known");
    drop(far);
    assert_eq!(closes(), 4);
}

/// Passes messages on, and panics after one that begins with a 'p'.
#[derive(Debug)]
struct Panicking {
    name: &'static str,
    /// By the short path for data, and by a service procedure.
    data: bool,
    serves: bool,
}

fn panic_at(data: &[u8]) {
    assert_ne!(data.first(), Some(&b'p'), "as asked for");
}

impl Module for Panicking {
    fn info(&self) -> ModuleInfo {
        let mut info = ModuleInfo::new(self.name);
        (info.data, info.services) = (self.data, [self.serves; 2]);
        info
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if self.serves && message.header.kind == Kind::Data {
            return queue.put_queue(message);
        }
        let data = message.data().unwrap_or_default().to_vec();
        queue.put_next(message)?;
        panic_at(&data);
        Ok(())
    }

    fn put_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        if self.serves {
            return next.queue(data);
        }
        next.put(data)?;
        panic_at(data);
        Ok(())
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        while let Some(message) = queue.get()? {
            panic_at(message.data().unwrap_or_default());
            queue.put_next(message)?;
        }
        Ok(())
    }

    fn service_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        panic_at(data);
        next.put(data)
    }
}

#[test]
fn a_panic_of_a_module_leaves_the_stream_to_others() {
    let cases = [
        ("panic", false, false),
        ("panic-data", true, false),
        ("panic-serve", false, true),
        ("panic-both", true, true),
    ];
    for (name, data, serves) in cases {
        let (near, far) = with_module(Panicking { name, data, serves });
        let other = near.clone();
        let mut buffer = [0; 99];
        for round in 0..3 {
            near.write(b"before ").expect("room");
            for message in [false, true] {
                let panicked = catch_unwind(AssertUnwindSafe(|| match message {
                    true => near.putmsg(None, Some(b"panic ")),
                    false => near.write(b"panic ").map(|_| ()),
                }));
                assert!(panicked.is_err(), "{name}: the panic goes on to the caller");
            }
            let start = Instant::now();
            other.write(b"other ").expect("another user of the end goes on");
            near.write(b"after").expect("the same goes on");
            far.write(b"back").expect("the other direction too");
            assert!(start.elapsed() < Duration::from_secs(1), "{name}: the lock was given back");
            let mut text = String::new();
            while let Ok(count) = far.read(&mut buffer) {
                text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
            }
            // A message that a service procedure did not pass on is lost with the panic of its sender, or was passed on
            // later.
            assert_eq!(text.replace("panic ", ""), "before other after", "{name}, round {round}");
            assert_eq!(near.read(&mut buffer).expect("there"), 4);
        }
    }
}

#[test]
fn a_reader_is_told_of_what_came_before_a_panic() {
    let (near, far) = with_module(Panicking { name: "panic-told", data: false, serves: false });
    far.set_nonblocking(false).expect("fine");
    let reader = std::thread::spawn(move || far.read(&mut [0; 9]).expect("there"));
    // It sleeps on its descriptor by then.
    std::thread::sleep(Duration::from_millis(60));
    assert!(catch_unwind(AssertUnwindSafe(|| near.putmsg(None, Some(b"panic")))).is_err());
    // Before, the message of the panic is printed, which takes its time.
    let start = Instant::now();
    assert_eq!(reader.join().expect("no panic there"), 5);
    assert!(start.elapsed() < Duration::from_millis(500), "told late, after {:?}", start.elapsed());
}

#[test]
fn a_hang_up_can_end() {
    let (mut near, far) = pipe().expect("pipe");
    near.push("testmod").expect("known");
    near.putmsg(Some(b"hangup 2"), None).expect("fine");
    let hung_up = |near: &Stream| near.poll(Events::OUT, Some(Duration::ZERO)).expect("fine");
    assert_eq!(hung_up(&mut near), Events::HUP);
    assert_eq!(near.write(b"x").expect_err("hung up").errno(), Errno::Nxio);
    assert_eq!(near.read(&mut [0; 9]).expect("the end"), 0);
    far.write(b"one").expect("only one end is hung up");
    assert_eq!(near.write(b"x").expect_err("still").errno(), Errno::Nxio);
    far.write(b"two").expect("room");
    assert_eq!(hung_up(&mut near), Events::OUT);
    near.write(b"again").expect("the hang-up is over");
    assert_eq!(far.read(&mut [0; 9]).expect("there"), 5);
    assert_eq!(near.read(&mut [0; 9]).expect("there"), 6);
}

#[test]
fn a_read_that_fills_gives_what_it_has_at_a_hang_up() {
    let (near, far) = pipe().expect("pipe");
    near.push("testmod").expect("known");
    near.settings().set_read_options(ReadOptions::new().fill(true)).expect("fine");
    let mut other = near.direct();
    // A handle that is in use when the reader falls asleep.
    other.attach().expect("a place");
    far.write(b"abc").expect("room");
    let reader = std::thread::spawn(move || {
        let counts = [near.read(&mut [0; 10]).expect("what is there"), near.read(&mut [0; 10]).expect("the end")];
        (counts, near.clone().read(&mut [0; 10]).expect("the end for a new handle"))
    });
    std::thread::sleep(Duration::from_millis(60));
    let start = Instant::now();
    other.putmsg(Some(b"hangup"), None).expect("fine");
    assert_eq!(reader.join().expect("no panic"), ([3, 0], 0));
    assert!(start.elapsed() < Duration::from_millis(500), "told late, after {:?}", start.elapsed());
}

//! A child that is forked while other threads of its parent are in the library: it waits for none of them, since it does not have
//! them, and what it does with its copies does not reach the parent.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{AsyncStream, Module, ModuleInfo, pipe};
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};

use super::common::{calm, extent, in_own_process, joined, within};

/// A child that takes longer waits for ever.
const CHILD_MAX: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Forks children that each call `action`, while a thread repeats `meanwhile`.
fn fork_while(meanwhile: impl Fn() + Sync, action: impl Fn()) {
    let is_over = AtomicBool::new(false);
    let rounds = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                meanwhile();
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        for number in 0..extent("HEADWATER_CHILDREN", 300) {
            let mut child = Child::fork(|| {
                action();
                0
            })
            .expect("fork");
            let since = Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().expect("wait") {
                    break status;
                }
                if since.elapsed() > CHILD_MAX {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("child {number} waits for a thread that it does not have");
                }
                std::thread::sleep(Duration::from_micros(100));
            };
            assert!(status.success(), "child {number}: {status}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(rounds.load(Ordering::Relaxed) > 0, "nothing was done meanwhile");
}

#[test]
fn a_child_makes_asynchronous_streams_of_an_end_of_which_its_parent_makes_some() {
    in_own_process!();
    let (near, _far) = pipe().expect("pipe");
    let (here, there) = (runtime(), near.clone());
    // A runtime of its own: what a child makes of its parent's is not promised.
    fork_while(
        || {
            let _in_it = here.enter();
            drop(AsyncStream::new(near.clone()).expect("a descriptor"));
        },
        || {
            let own = runtime();
            let _in_it = own.enter();
            drop(AsyncStream::new(there.clone()).expect("a descriptor"));
            there.clone().close().expect("open");
        },
    );
}

#[test]
fn a_child_pushes_modules_while_its_parent_registers_some() {
    #[derive(Debug)]
    struct Numbered(&'static str);

    impl Module for Numbered {
        fn info(&self) -> ModuleInfo {
            ModuleInfo::new(self.0)
        }
    }

    in_own_process!();
    let next = AtomicU32::new(0);
    let register = |prefix: &str| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let name: &'static str = Box::leak(format!("{prefix}{number}").into_boxed_str());
        headwater_streams::register(Numbered(name)).expect("a new name");
        name
    };
    let known = || assert!(headwater_streams::known_modules().contains(&"nullmod"));
    fork_while(
        || {
            register("m");
            known();
        },
        || {
            known();
            let (near, _far) = pipe().expect("pipe");
            near.push(register("c")).expect("it is known");
        },
    );
}

#[test]
fn a_child_that_closes_an_end_leaves_its_parents_task_on_it() {
    in_own_process!();
    within(Duration::from_secs(120), "a task whose end a child has closed".to_owned());
    let (near, far) = pipe().expect("pipe");
    let for_child = near.clone();
    runtime().block_on(async {
        let mut stream = AsyncStream::new(near).expect("a descriptor");
        let mut buffer = [0; 8];
        // It waits before the child closes its copy.
        let early = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut buffer)).await;
        assert!(early.is_err(), "nothing was written yet");
        let child = Child::fork(|| {
            for_child.clone().close().expect("open");
            0
        });
        joined(child.expect("fork"));
        let write = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            far.write(b"later").expect("room");
        };
        let (count, ()) = tokio::join!(stream.read(&mut buffer), write);
        assert_eq!(&buffer[..count.expect("it came")], b"later");
    });
    calm();
}

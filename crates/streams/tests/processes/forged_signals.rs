//! A member of a stream that writes any process and any process group into the words of the shared memory that a registration
//! for signals changes: no other process is signalled. Each case runs in a PID namespace of its own, because a signal to process
//! group 1 would be one to every process that there is.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::{Access, Result, SignalEvents, Stream, pipe};

use crate::common::users::{NOBODY, become_user, fifo, is_root};
use crate::common::{calm, child, in_own_process, joined, open, within};

/// The memory that has words of fixed meaning is shorter.
const WORDS: usize = 8192;

/// Users of one stream.
#[derive(Debug, Clone, Copy)]
struct Case {
    victim: u32,
    attacker: u32,
    /// Whether they meet at a FIFO that every user may open, and not at a pipe.
    is_fifo: bool,
    /// Whether the victim is registered too.
    registers: bool,
}

#[test]
fn root_signals_no_process_that_another_user_has_written_into_the_memory() {
    in_own_process!();
    for registers in [false, true] {
        run(Case { victim: 0, attacker: NOBODY, is_fifo: false, registers });
    }
}

#[test]
fn a_user_signals_no_process_that_another_user_of_a_fifo_has_written_into_the_memory() {
    in_own_process!();
    for registers in [false, true] {
        run(Case { victim: 1001, attacker: 1002, is_fifo: true, registers });
    }
}

fn run(case: Case) {
    if !is_root() {
        return;
    }
    within(Duration::from_secs(60), format!("{case:?}"));
    joined(child(|| {
        // SAFETY: takes flags and touches no memory; the process has one thread.
        let apart = unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS) } == 0;
        if !apart {
            println!("skipped: this process may not make PID namespaces");
            return Ok(());
        }
        let pid = Child::fork_apart(|| first(case)).expect("fork") as libc::pid_t;
        let mut status = 0;
        // SAFETY: our own child, which is not reaped; `status` is a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0, "{case:?}");
        Ok(())
    }));
    calm();
}

fn first(case: Case) -> i32 {
    // SAFETY: takes a signal's number.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    match in_namespace(case) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{case:?}: {error}");
            1
        }
    }
}

/// The first process of a PID namespace.
fn in_namespace(case: Case) -> Result<()> {
    // SAFETY: the strings end with NUL, and no data is given.
    let mounted = unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        ) | libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, std::ptr::null())
    };
    assert_eq!(mounted, 0, "mount: {}", std::io::Error::last_os_error());
    let (_directory, path) = fifo(0o666);
    let (mut near, mut far) = pipe()?;
    let (theirs, ours) = UnixStream::pair()?;
    ours.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut bystander = child(|| {
        // SAFETY: no memory.
        unsafe { libc::setpgid(0, 0) };
        become_user(case.victim);
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    let mut victim = child(|| {
        become_user(case.victim);
        let told = receive(&theirs);
        assert_eq!(told, Some(b'o'));
        if case.is_fifo {
            near = open(&path, Access::Write)?;
        }
        near.set_nonblocking(true)?;
        near.write(b"x")?;
        if case.registers {
            ignore_signals();
            near.signals().set(SignalEvents::all())?;
        }
        send(&theirs, b'o');
        // A write may fail, because the memory is spoilt.
        while receive(&theirs) == Some(b'w') {
            let _ = near.write(b"x");
            send(&theirs, b'd');
        }
        Ok(())
    });
    let ids = [victim.id(), bystander.id()];
    let mut attacker = child(|| {
        become_user(case.attacker);
        ignore_signals();
        if case.is_fifo {
            far = open(&path, Access::Read)?;
        }
        far.set_nonblocking(true)?;
        let _ = far.read(&mut [0]);
        attack(case, &far, &ours, ids);
        // The victim ends.
        send(&ours, b'e');
        Ok(())
    });
    assert!(attacker.wait()?.success(), "the victim was signalled, or the attacker");
    assert!(victim.wait()?.success(), "the victim was signalled");
    std::thread::sleep(Duration::from_millis(50));
    assert!(is_alive(&mut bystander), "the bystander was signalled");
    Ok(())
}

fn is_alive(child: &mut Child) -> bool {
    child.try_wait().expect("wait").is_none()
}

/// Signals that this process has asked for, or that others make it send itself, do nothing.
fn ignore_signals() {
    for number in [libc::SIGPOLL, libc::SIGURG] {
        // SAFETY: sets no handler.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

fn send(socket: &UnixStream, byte: u8) {
    (&*socket).write_all(&[byte]).expect("the other one waits");
}

fn receive(socket: &UnixStream) -> Option<u8> {
    let mut byte = [0];
    ((&*socket).read(&mut byte).ok()? == 1).then_some(byte[0])
}

/// The words of the stream's memory.
struct Words(File);

impl Words {
    fn of_stream(case: Case) -> Words {
        let name = if case.is_fifo { "/memfd:headwater-fifo" } else { "/memfd:headwater-stream" };
        let is_stream = |path: &std::path::PathBuf| {
            std::fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with(name))
        };
        let mut numbers =
            std::fs::read_dir("/proc/self/fd").expect("/proc").map(|entry| entry.expect("an entry").path());
        let path = numbers.find(is_stream);
        let file = File::options().read(true).write(true).open(path.expect("it is open"));
        Words(file.expect("it is ours, too"))
    }

    fn all(&self) -> Vec<u64> {
        let mut bytes = vec![0; 8 * WORDS];
        self.0.read_exact_at(&mut bytes, 0).expect("it is longer");
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect()
    }

    fn set(&self, at: usize, value: u64) {
        self.0.write_all_at(&value.to_ne_bytes(), 8 * at as u64).expect("it is inside");
    }
}

/// Has the victim write again and again, while the words that registrations have changed name processes and groups.
fn attack(case: Case, far: &Stream, victim: &UnixStream, [victim_id, bystander]: [u32; 2]) {
    let namespace = std::fs::metadata("/proc/self/ns/pid").expect("/proc").ino();
    let place = |pid: u32| namespace << 32 | u64::from(pid);
    let words = Words::of_stream(case);
    let before = words.all();
    send(victim, b'o');
    assert_eq!(receive(victim), Some(b'o'));
    far.signals().set(SignalEvents::all()).expect("room");
    let after = words.all();
    // The victim's member has its identity.
    let member = after.iter().position(|word| *word == place(victim_id)).expect("it uses the stream");
    let changed: Vec<usize> = (0..WORDS).filter(|at| before[*at] != after[*at]).collect();
    assert!(!changed.is_empty());
    let victim_writes = || {
        send(victim, b'w');
        assert_eq!(receive(victim), Some(b'd'), "the victim is gone");
    };
    victim_writes();
    for group in [bystander, 0, 1] {
        let both = u64::from(group) << 32;
        // An entry as a table of registrations had it: identity, events and group.
        for at in
            changed.iter().copied().filter(|at| [place(std::process::id()), place(victim_id)].contains(&after[*at]))
        {
            let kept = words.all();
            (0..3).for_each(|word| words.set(at + word, after[member + word]));
            words.set(at + 3, both | 0x3ff);
            victim_writes();
            (0..4).for_each(|word| words.set(at + word, kept[at + word]));
        }
        // Any one word.
        for at in changed.iter().copied() {
            for value in [both | 0x3ff, both | u64::from(group), place(group), u64::from(group), u64::MAX] {
                let kept = words.all()[at];
                words.set(at, value);
                victim_writes();
                words.set(at, kept);
            }
        }
    }
}

//! Every lock keeps several threads apart, and names and sets vanish.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const THREADS: u64 = 4;

/// Adds in `THREADS` threads with a plain load and store under the lock: without exclusion additions get lost.
fn check_excludes(additions: u64, add: impl Fn(usize, &dyn Fn()) -> io::Result<()> + Sync) {
    let counter = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..THREADS as usize {
            let (add, counter) = (&add, &counter);
            scope.spawn(move || {
                for _ in 0..additions {
                    add(worker, &|| counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed))
                        .expect("the lock works");
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), THREADS * additions);
}

#[test]
fn mutex_excludes_threads() {
    let mutex = Mutex::shared().expect("a mutex");
    check_excludes(100_000, |_, add| mutex.lock().map(|_guard| add()));
}

#[test]
fn writers_of_an_rwlock_exclude_each_other() {
    let lock = RwLock::shared().expect("a lock");
    check_excludes(100_000, |_, add| lock.write().map(|_guard| add()));
}

#[test]
fn semaphore_of_one_excludes_threads() {
    let semaphore = Semaphore::shared(1).expect("a semaphore");
    check_excludes(100_000, |_, add| {
        semaphore.wait()?;
        add();
        semaphore.post()
    });
}

#[test]
fn named_semaphore_excludes_threads_and_has_no_name() {
    let name = format!("headwater-test-{}", std::process::id());
    let semaphore = NamedSemaphore::create_unlinked(&name, 1).expect("a semaphore");
    assert!(!std::path::Path::new(&format!("/dev/shm/sem.{name}")).exists());
    check_excludes(100_000, |_, add| {
        semaphore.wait()?;
        add();
        semaphore.post()
    });
}

#[test]
fn record_locks_of_several_descriptions_exclude_threads() {
    let first = RecordLock::new(Owner::Description).expect("a lock");
    let locks: Vec<RecordLock> = (0..THREADS).map(|_| first.reopen().expect("a description")).collect();
    check_excludes(5_000, |worker, add| {
        locks[worker].lock()?;
        add();
        locks[worker].unlock()
    });
}

#[test]
fn system_v_semaphore_excludes_threads_and_is_removed() {
    let semaphore = match SystemVSemaphore::new(1, Undo::AtExit) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return,
        semaphore => semaphore.expect("a semaphore"),
    };
    check_excludes(5_000, |_, add| {
        semaphore.wait()?;
        add();
        semaphore.post()
    });
    let id = semaphore.id;
    drop(semaphore);
    // SAFETY: GETVAL takes no argument and touches no memory.
    assert_eq!(unsafe { libc::semctl(id, 0, libc::GETVAL) }, -1, "the set is still there");
}

#[test]
fn futex_lock_excludes_threads() {
    let lock = FutexLock::shared().expect("a lock");
    check_excludes(100_000, |_, add| lock.lock().map(|_guard| add()));
}

#[test]
fn every_sleeper_on_a_futex_lock_is_woken() {
    let lock = FutexLock::shared().expect("a lock");
    let guard = lock.lock().expect("the lock works");
    let passed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let _guard = lock.lock().expect("the lock works");
                passed.fetch_add(1, Ordering::Relaxed);
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(passed.load(Ordering::Relaxed), 0, "nobody passes a held lock");
        drop(guard);
    });
    assert_eq!(passed.into_inner(), THREADS);
}

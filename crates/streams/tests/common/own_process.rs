//! Tests that fork have a process of their own.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs the calling test once more, in a process of its own. Returns a guard there, and here `None` when the test has succeeded.
pub fn run_in_own_process() -> Option<MutexGuard<'static, ()>> {
    const IS_OWN: &str = "HEADWATER_TEST_IS_ALONE";
    let thread = std::thread::current();
    // With one thread for all tests, which is the main one, they run one after the other.
    let Some(name) = thread.name().filter(|name| *name != "main" && std::env::var_os(IS_OWN).is_none()) else {
        return Some(alone());
    };
    let program = std::env::current_exe().expect("a program");
    let mut test = std::process::Command::new(program);
    test.args(["--exact", name, "--include-ignored", "--nocapture", "--test-threads", "1"]).env(IS_OWN, "");
    let output = test.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success() && said.contains("test result: ok. 1 passed"), "{name}: {}", output.status);
    None
}

/// One test at a time: a forked child has copies of the descriptors of all tests, and keeps their ends open.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

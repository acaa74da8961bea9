//! The environment, as far as a program may trust it: a program with more rights than its starter may not.

use std::ffi::OsString;

/// The value of a variable. None if it is not set; and always in a program that was started with more rights than its starter
/// has (a set-user-ID program, or one with capabilities of its own): its starter could use these rights by it. As
/// secure_getenv(3), but for the program, which need not be the C library's.
pub fn trusted(name: &str) -> Option<OsString> {
    if has_more_rights() { None } else { std::env::var_os(name) }
}

/// Whether this program was started with more rights than its starter has.
pub fn has_more_rights() -> bool {
    // SAFETY: takes a number, and reads what the kernel has told this process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Removes a variable, so that programs that this one starts do not get it, if the process has one thread: in C,
/// another thread may read the environment at any time, and must not while it changes. Returns whether it was removed.
pub fn forget(name: &str) -> bool {
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if is_alone {
        // SAFETY: this is the only thread, and it is not reading the environment.
        unsafe { std::env::remove_var(name) };
    }
    is_alone
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::process::Command;

    use super::*;
    use crate::own_process::run_in_own_process;

    const VARIABLE: &str = "HEADWATER_TEST_TRUSTED";

    /// Not a test of its own: the program that the other one starts.
    #[test]
    fn program() {
        if std::env::var_os(VARIABLE).is_some() {
            println!("it trusts {:?}", trusted(VARIABLE));
        }
    }

    #[test]
    fn a_variable_is_removed_where_no_other_thread_can_read_it() {
        // No other test may have the standard library's lock of the environment when the child is forked.
        let Some(_alone) = run_in_own_process() else { return };
        const FORGOTTEN: &str = "HEADWATER_TEST_FORGOTTEN";
        // The test's own thread is another.
        assert!(!forget(FORGOTTEN));
        let mut child = crate::child::Child::fork(|| {
            // SAFETY: the child has one thread.
            unsafe { std::env::set_var(FORGOTTEN, "1") };
            i32::from(!(forget(FORGOTTEN) && std::env::var_os(FORGOTTEN).is_none()))
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn a_program_with_more_rights_than_its_starter_trusts_nothing() {
        let path = std::env::temp_dir().join(format!("headwater-trusted-{}", std::process::id()));
        fs::copy(std::env::current_exe().expect("our own path"), &path).expect("room");
        let said = || {
            let mut program = Command::new(&path);
            program.args(["--exact", "environment::tests::program", "--nocapture"]).env(VARIABLE, "1");
            let output = program.output();
            String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
        };
        let before = said();
        // Only root can give it to another group.
        let given = chown(&path, None, Some(65534)).and_then(|()| {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o2755))?;
            Ok(said())
        });
        fs::remove_file(&path).expect("it is there");
        assert!(before.contains("it trusts Some(\"1\")"), "{before}");
        match given {
            Ok(after) => assert!(after.contains("it trusts None"), "{after}"),
            Err(error) => println!("skipped: {error}"),
        }
    }
}

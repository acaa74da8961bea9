//! Environment variables that a program may trust. A program that has more rights than the user who started it trusts none.

use std::ffi::OsString;

/// Returns the value of a variable; `None` if it is not set.
///
/// In a program with more rights than its starter (a set-user-ID program, or one with file capabilities) the result is always
/// `None`: otherwise its starter could use the rights by setting the variable. Like secure_getenv(3), but it does not need the
/// C library.
pub fn trusted(name: &str) -> Option<OsString> {
    if has_more_rights() { None } else { std::env::var_os(name) }
}

/// Returns whether this program has more rights than the process that started it.
pub fn has_more_rights() -> bool {
    // SAFETY: takes a number, and reads the auxiliary vector of this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Removes a variable, so that programs that this one starts do not inherit it. Returns whether it was removed.
///
/// Does so only if the process has one thread: code in C may read the environment at any time, and must not do so while it
/// changes.
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

    /// Not a test of its own: the program that another test starts.
    #[test]
    fn program() {
        if std::env::var_os(VARIABLE).is_some() {
            println!("it trusts {:?}", trusted(VARIABLE));
        }
    }

    #[test]
    fn forget_removes_a_variable_if_there_is_one_thread() {
        // No other test may hold the standard library's lock of the environment when the child is forked.
        let Some(_alone) = run_in_own_process() else { return };
        const FORGOTTEN: &str = "HEADWATER_TEST_FORGOTTEN";
        // The test runs in a thread of its own, so there are two.
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
    fn program_with_more_rights_trusts_nothing() {
        let path = std::env::temp_dir().join(format!("headwater-trusted-{}", std::process::id()));
        fs::copy(std::env::current_exe().expect("our own path"), &path).expect("room");
        let said = || {
            let mut program = Command::new(&path);
            program.args(["--exact", "environment::tests::program", "--nocapture"]).env(VARIABLE, "1");
            let output = program.output();
            String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
        };
        let before = said();
        // Only root can change the group of a file to any other one.
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

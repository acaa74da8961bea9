//! A program that was started with more rights than its starter has reads no environment variable: it joins no session
//! and lets no recorder in. Its starter could read its events, and so its data.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_trace::region::{Layout, Region};
use headwater_trace::schema::Clock;
use headwater_trace::{WhenFull, listen, session};

headwater_trace::events! {
    told("rights:told") { number: u64 }
}

/// Not a test: the program that the other one starts. It does nothing unless its variable is set.
#[test]
fn the_program() {
    if std::env::var_os(session::VARIABLE).is_some() {
        told(1);
        let attached = listen::attach(std::process::id(), Path::new("/no/such/session"));
        let is_listening = attached.expect_err("there is no such session").kind() != ErrorKind::ConnectionRefused;
        println!("recorded: {}, listening: {is_listening}", told::EVENT.is_recorded());
    }
}

/// Removes a file at the end of a test.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn make_session(path: &Path) -> Region {
    let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
    let patterns = vec!["rights:*".to_owned()];
    Region::create(path, &Layout { patterns, when_full: WhenFull::Refuse, cpu_bytes: 1 << 16, clock })
        .expect("a session")
}

#[test]
fn a_program_with_more_rights_than_its_starter_is_not_traced_by_the_environment() {
    let [program, memory] = ["program", "session"]
        .map(|name| std::env::temp_dir().join(format!("headwater-rights-{name}-{}", std::process::id())));
    let _removed = [&program, &memory].map(|path| Removed(path.clone()));
    fs::copy(std::env::current_exe().expect("our own path"), &program).expect("room");
    let region = make_session(&memory);
    let said = || {
        let mut command = Command::new(&program);
        command.args(["--exact", "the_program", "--nocapture"]);
        command.env(session::VARIABLE, &memory).env(listen::VARIABLE, "1").env(session::LOGS_VARIABLE, "thread");
        String::from_utf8_lossy(&command.output().expect("it starts").stdout).into_owned()
    };
    let before = said();
    assert!(before.contains("recorded: true, listening: true"), "{before}");
    let threads = region.greetings(0).count();
    assert!(threads > 0, "the program has joined");
    // Only root can give a file to another group.
    let given = chown(&program, None, Some(65534));
    match given.and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o2755))) {
        Ok(()) => {
            let after = said();
            assert!(after.contains("recorded: false, listening: false"), "{after}");
            assert_eq!(region.greetings(0).count(), threads);
        }
        Err(error) => println!("skipped: {error}"),
    }
}

//! `headwater streams autopush` as a user runs it: what it prints and changes, its exit statuses and messages.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use headwater_streams::drivers::major;
use tempfile::TempDir;

/// A directory of devices, for a test.
struct Devices(TempDir);

impl Devices {
    fn new() -> Devices {
        Devices(TempDir::new().expect("a temporary directory"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        // Not yet there, so it is made for this user alone.
        let devices = self.0.path().join("devices");
        command.args(["streams", "autopush"]).args(arguments).env("HEADWATER_RUNTIME_DIR", devices);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Exit status, standard output, standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        said(self.command(arguments).output().expect("the command starts"))
    }

    fn file(&self, text: &str) {
        fs::write(self.0.path().join("file"), text).expect("write");
    }

    fn list(&self) -> String {
        self.run(&[]).1
    }
}

fn said(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("ended by itself"), text(output.stdout), text(output.stderr))
}

const ENTRIES: &str = "echo 0 7 nullmod srvmod\nnuls -1 0 bufmod\nlog 3 0 nullmod\n";

#[test]
fn entries_of_a_file_are_added_listed_got_and_removed() {
    let devices = Devices::new();
    assert_eq!(devices.run(&[]), (0, String::new(), String::new()));
    devices.file(&format!("# devices\n\n{ENTRIES}"));
    assert_eq!(devices.run(&["-f", "file"]), (0, String::new(), String::new()));
    assert_eq!(devices.list(), ENTRIES);
    let number = major("echo").to_string();
    for (arguments, expected) in [
        (&["-g", "-M", "echo", "-m", "3"][..], "echo 0 7 nullmod srvmod\n"),
        (&["--get", "--major", "echo", "--minor", "3"], "echo 0 7 nullmod srvmod\n"),
        (&["-g", "-M", &number, "-m", "7"], "echo 0 7 nullmod srvmod\n"),
        (&["-g", "-M", "nuls"], "nuls -1 0 bufmod\n"),
    ] {
        assert_eq!(devices.run(arguments), (0, expected.to_owned(), String::new()), "{arguments:?}");
    }
    assert_eq!(devices.run(&["-r", "-M", "nuls"]).0, 0);
    assert_eq!(devices.run(&["--remove", "--major", &number, "--minor", "0"]).0, 0);
    assert_eq!(devices.list(), "log 3 0 nullmod\n");
    // What was listed is a file.
    let mut child = devices.command(&["-f", "-"]).stdin(Stdio::piped()).spawn().expect("the command starts");
    child.stdin.take().expect("piped").write_all(format!("{number} 1 0 srvmod").as_bytes()).expect("it reads");
    assert!(child.wait().expect("wait").success());
    assert_eq!(devices.list(), "log 3 0 nullmod\necho 1 0 srvmod\n");
    let elsewhere = devices.run(&["-d", "elsewhere"]);
    assert_eq!(elsewhere, (0, String::new(), String::new()));
}

#[test]
fn what_is_refused_is_said_and_changes_nothing() {
    let devices = Devices::new();
    devices.file(ENTRIES);
    assert_eq!(devices.run(&["-f", "file"]).0, 0);
    for (arguments, words) in [
        (&["-g", "-M", "echo", "-m", "8"][..], "no modules are configured for 'echo' 8"),
        (&["-r", "-M", "echo", "-m", "1"], "begins with minor number 0"),
        (&["-r", "-M", "mux"], "no modules are configured"),
        (&["-g", "-M", "12345"], "major number 12345"),
        (&["-f", "missing"], "missing"),
        (&["-M", "echo"], "--get or --remove"),
        (&["-g"], "--major"),
        (&["-g", "-r", "-M", "echo"], "cannot be used with"),
        (&["-f", "file", "-r", "-M", "echo"], "cannot be used with"),
        (&["-g", "-M", "echo", "-m", "-1"], "-1"),
    ] {
        let (status, out, error) = devices.run(arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    // A line that makes no sense: nothing of the file is added. One that is refused: the others are.
    for (text, words, added) in [
        ("mux 0 0 nullmod\nmux 1", "line 2: ", ""),
        ("mux 0 0 1 2 3 4 5 6 7 8 9", "1 to 8 modules", ""),
        ("echo 3 0 nullmod\nmux 0 0 nullmod", "'echo 3 0 nullmod': there is an entry", "mux 0 0 nullmod\n"),
    ] {
        devices.file(text);
        let (status, _, error) = devices.run(&["-f", "file"]);
        assert_eq!(status, 2, "{text}");
        assert!(error.contains(words), "{text}: {error}");
        assert_eq!(devices.list(), format!("{ENTRIES}{added}"), "{text}");
    }
    // Names that other programs may know are taken, with a note.
    devices.file("other 0 0 unknown");
    let (status, _, notes) = devices.run(&["-f", "file"]);
    assert_eq!((status, notes.lines().count()), (0, 2), "{notes}");
    assert!(notes.contains("'other'") && notes.contains("'unknown'"), "{notes}");
}

//! Completion in real shells: bash and zsh on a terminal, with the tab key, and fish by `complete -C`. A shell that is not
//! installed is skipped, and said so; in the long form (`HEADWATER_TIMES`) it is missing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

/// The path of the command's directory, in front of the others.
fn path() -> String {
    let directory = Path::new(env!("CARGO_BIN_EXE_headwater")).parent().expect("a directory");
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default())
}

/// A directory with two runs and a directory that is none.
fn place() -> TempDir {
    let place = TempDir::new().expect("a temporary directory");
    for run in ["headwater-runs/2026-01-02", "headwater-runs/2026-01-03 of b"] {
        fs::create_dir_all(place.path().join(run)).expect("a directory");
        fs::write(place.path().join(run).join("run.jsonl"), "").expect("a file");
    }
    fs::create_dir(place.path().join("other")).expect("a directory");
    place
}

fn is_installed(shell: &str) -> bool {
    let found = Command::new(shell).arg("-c").arg("true").output().is_ok_and(|output| output.status.success());
    // The long form of the tests leaves nothing out.
    assert!(found || std::env::var_os("HEADWATER_TIMES").is_none(), "{shell} is not installed");
    if !found {
        println!("skipped: {shell} is not installed");
    }
    found
}

/// Types `keys` into an interactive shell on a terminal, after its completions were loaded, and returns what the shell then
/// wrote into the file `typed`: each line calls a function that does so with its arguments.
fn typed(shell: &str, place: &Path, setup: &str, keys: &[&str]) -> String {
    let mut command = Command::new("script");
    command.args(["-qfec", shell, "/dev/null"]).current_dir(place).env("PATH", path()).env("TERM", "dumb");
    command.env("HOME", place).env("ZDOTDIR", place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("util-linux has script");
    // Read all the time, so that the shell never waits for us.
    let mut output = child.stdout.take().expect("a pipe");
    let screen = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut output, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{setup}; touch ready").expect("the shell reads");
    let wait = |name: &str| {
        for _ in 0..500 {
            if place.join(name).exists() {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        // The prompt is drawn, and the line editor reads.
        sleep(Duration::from_millis(100));
    };
    wait("ready");
    for (number, line) in keys.iter().enumerate() {
        // The function is called as the command is: the shell completes by that name.
        writeln!(input, "{line}").expect("the shell reads");
        wait(&format!("done{number}"));
    }
    writeln!(input, "exit").expect("the shell reads");
    drop(input);
    child.wait().expect("it ends");
    let screen = screen.join().expect("it reads");
    fs::read_to_string(place.join("typed")).unwrap_or_else(|error| panic!("{shell}: {error}: {screen}"))
}

/// The lines: each is completed by tabs, and then shown by the function `headwater` that stands for the command. A function
/// of that name hides the command from the line that is run, and not from the completion, which is given a path.
const KEYS: [&str; 11] = [
    "headwater ov\tcompi\t",
    "headwater run --placem\tsam\t",
    "headwater run suite:fi\t",
    "headwater show published:pipes/f\t",
    "headwater show headwater-runs/2026-01-03\t",
    "headwater run streams-pipe/wak\t",
    "headwater run --placement=tw\t",
    "headwater man oth\t",
    "headwater export a --format open\t",
    "headwater report a --svg heat\t",
    "headwater streams top --sort que\t",
];

const EXPECTED: [&str; 11] = [
    "overhead|compile|",
    "run|--placement|same-cpu|",
    "run|suite:fifo|",
    "show|published:pipes/fc6|",
    "show|headwater-runs/2026-01-03 of b|",
    "run|streams-pipe/wake/|",
    "run|--placement=two-cpus|",
    "man|other/|",
    "export|a|--format|openmetrics|",
    "report|a|--svg|heatmap|",
    "streams|top|--sort|queued|",
];

fn setup(load: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_headwater");
    format!(
        "PS1=; n=0; {load}; headwater() {{ if [ \"$1\" = complete ]; then command {binary} \"$@\"; else printf '%s|' \"$@\" >> typed; \
         echo >> typed; : > done$n; n=$((n+1)); fi; }}"
    )
}

#[test]
fn bash_completes_names_runs_and_words_with_colons() {
    if !is_installed("bash") {
        return;
    }
    let place = place();
    let keys = typed(
        "bash --norc --noprofile -i",
        place.path(),
        &setup("eval \"$(command headwater completions bash)\""),
        &KEYS,
    );
    assert_eq!(keys.lines().collect::<Vec<_>>(), EXPECTED);
}

#[test]
fn zsh_completes_names_runs_and_words_with_colons() {
    if !is_installed("zsh") {
        return;
    }
    let place = place();
    let load = "autoload -U compinit; compinit -u -D; eval \"$(command headwater completions zsh)\"";
    let keys = typed("zsh -f -i", place.path(), &setup(load), &KEYS);
    // zsh removes the slash that ends a completed word.
    let expected = EXPECTED.map(|line| line.replace("/|", "|"));
    assert_eq!(keys.lines().map(|line| line.replace("/|", "|")).collect::<Vec<_>>(), expected);
}

#[test]
fn fish_completes_names_runs_and_words_with_colons() {
    if !is_installed("fish") {
        return;
    }
    let place = place();
    let complete = |line: &str| {
        let script = format!("headwater completions fish | source; complete -C '{line}'");
        let mut command = Command::new("fish");
        command
            .args(["--no-config", "-c", &script])
            .current_dir(place.path())
            .env("PATH", path())
            .env("HOME", place.path());
        let output = command.output().expect("it starts");
        String::from_utf8(output.stdout).expect("text")
    };
    for (line, word) in [
        ("headwater ov", "overhead"),
        ("headwater run --placement sam", "same-cpu"),
        ("headwater run suite:fi", "suite:fifo"),
        ("headwater show published:pipes/f", "published:pipes/fc6"),
        ("headwater show headwater-runs/2026-01-03", "headwater-runs/2026-01-03 of b"),
        ("headwater run streams-pipe/wak", "streams-pipe/wake/"),
        ("headwater run --placement=tw", "--placement=two-cpus"),
        ("headwater man ot", "other/"),
        ("headwater export a --format open", "openmetrics"),
        ("headwater report a --svg heat", "heatmap"),
        ("headwater streams top --sort que", "queued"),
    ] {
        let found = complete(line);
        assert!(found.lines().any(|found| found.split('\t').next() == Some(word)), "{line:?}: {found}");
    }
    let rows = complete("headwater run ");
    assert!(!rows.lines().any(|row| row.starts_with("other/")), "no files where there can be none: {rows}");
}

//! Events are probes that other tools find and count.

use std::process::Command;

headwater_trace::events! {
    counted("probes:counted") { number: u64, less: i32, name: &str }
    bare("probes:bare") {}
    many("probes:many") { a: u8, b: i8, c: u16, d: i16, e: u32, f: i32, g: u64 }
}

const PART: &str = "HEADWATER_TEST_PART";
const COUNT: u64 = 1000;

/// Not a test: the program with the probes. It does nothing unless its variable is set.
#[test]
fn the_program() {
    if std::env::var_os(PART).is_some() {
        for number in 0..COUNT {
            counted(number, -3, "four");
            bare();
            many(1, -1, 2, -2, 3, -3, number);
        }
    }
}

fn this() -> String {
    std::env::current_exe().expect("an executable").to_str().expect("UTF-8").to_owned()
}

/// The output of a tool; None, with the reason on the terminal, if it is missing or not permitted.
fn said_by(tool: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(tool);
    match command.args(arguments).env(PART, "1").output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            println!("skipped: {tool}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            println!("skipped: {tool}: {error}");
            None
        }
    }
}

#[test]
fn notes_name_the_probes_and_their_arguments() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return println!("skipped: no probes here");
    }
    let Some(notes) = said_by("readelf", &["--notes", "--wide", &this()]) else { return };
    for (name, sizes) in
        [("counted", vec!["8", "-8", "8", "8"]), ("bare", vec![]), ("many", vec!["8", "-8", "8", "-8", "8", "-8"])]
    {
        let mut lines = notes.lines().skip_while(|line| line.trim() != format!("Name: {name}"));
        lines.next().unwrap_or_else(|| panic!("no probe {name} in {notes}"));
        let place = lines.next().expect("a place");
        assert!(place.contains("Location: 0x") && !place.contains("Location: 0x0000000000000000"), "{place}");
        let arguments = lines.next().and_then(|line| line.trim().strip_prefix("Arguments:")).expect("arguments");
        let found: Vec<&str> = arguments.split_whitespace().filter_map(|one| Some(one.split_once("@%")?.0)).collect();
        assert_eq!(found, sizes, "{name}: {arguments}");
    }
    assert!(notes.contains("Provider: probes"));
}

#[test]
fn bpftrace_lists_and_counts_them() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return println!("skipped: no probes here");
    }
    let Some(list) = said_by("bpftrace", &["-l", &format!("usdt:{}:*", this())]) else { return };
    for name in ["counted", "bare", "many"] {
        assert!(list.lines().any(|line| line.ends_with(&format!(":probes:{name}"))), "no {name} in {list}");
    }
    let program = format!("{} --exact the_program --test-threads 1", this());
    let script = format!(
        "usdt:{0}:probes:counted {{ @hits = count(); @sum = sum(arg0); @less = min((int64)arg1); @text[str(arg2, arg3)] = count(); }} \
         usdt:{0}:probes:many {{ @last = max(arg5 + 4); }}",
        this()
    );
    let Some(said) = said_by("bpftrace", &["-e", &script, "-c", &program]) else { return };
    for line in [
        format!("@hits: {COUNT}"),
        format!("@sum: {}", COUNT * (COUNT - 1) / 2),
        "@less: -3".to_owned(),
        format!("@text[four]: {COUNT}"),
        "@last: 1".to_owned(),
    ] {
        assert!(said.lines().any(|said| said == line), "no {line} in {said}");
    }
}

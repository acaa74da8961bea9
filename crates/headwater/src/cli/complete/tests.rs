//! What a word can become, by the words before it.

use super::*;

fn completed(line: &str) -> Vec<String> {
    let words = split::words(line);
    let (last, before) = words.split_last().expect("a word");
    let mut root = command();
    root.build();
    let values = candidates(&root, before, last);
    values.words.into_iter().map(|word| word.value).filter(|value| value.starts_with(last)).collect()
}

/// Checks that the line is completed by these words, beside others.
fn check(line: &str, expected: &[&str]) {
    let found = completed(line);
    for word in expected {
        assert!(found.iter().any(|found| found == word), "{line:?}: no {word} in {found:?}");
    }
}

#[test]
fn every_name_is_completed() {
    check("", &["run", "streams", "doctor"]);
    check("streams ", &["ls", "top"]);
    check("run ", &["overview", "lmbench", "pipe", "streams-pipe", "rtt", "suite:fifo", "transport:fifo"]);
    check("run pipes streams-p", &["streams-pipe"]);
    check("run pipes pipe", &["pipe", "pipe/", "pipes"]);
    check("run pipe/", &["pipe/rtt/", "pipe/stream/"]);
    check("run pipe/stream/64/", &["pipe/stream/64/same-cpu", "pipe/stream/64/two-cpus", "pipe/stream/64/free"]);
    check("run lmbench null-c", &["null-call"]);
    check("run --pl", &["--placement"]);
    check("run --placement ", &["same-cpu", "two-cpus", "free"]);
    check("run -p same-cpu,", &["same-cpu,two-cpus", "same-cpu,free"]);
    check("run --placement=f", &["--placement=free"]);
    check("show published:pi", &["published:pipes"]);
    check("show published:pipes/f", &["published:pipes/fc6"]);
    check("export x --format ", &["csv", "bench", "bmf", "openmetrics", "markdown", "json"]);
    check("import ", &["netperf", "lmbench"]);
    check("import netperf --test ", &["UDP_RR"]);
    check("compare a --by ", &["kernel", "placement"]);
    check("compare a b --baseline ", &["a", "b", "pipe", "same-cpu"]);
    check("compare --fail-on ", &["regression", "never"]);
    check("report a --svg ", &["delay", "forest"]);
    check("report a --svg delay --pattern ", &["rtt"]);
    check("overhead ", &["compile", "compress"]);
    check("overhead --configs off,", &["off,null", "off,strace"]);
    check("perftest --module ", &["nullmod", "srvmod"]);
    check("perftest -m ", &["nullmod"]);
    check("trace record --clock ", &["tsc", "monotonic"]);
    check("trace show r --format ", &["text", "chrome"]);
    check("streams top --sort ", &["queued"]);
    check("streams attach p --driver ", &["echo"]);
    check("streams autopush --major ", &["echo"]);
    check("completions ", &["bash", "zsh", "fish"]);
    check("noise ", &["overview"]);
}

#[test]
fn what_was_typed_is_not_offered_again() {
    let options = completed("run --json --");
    assert!(!options.contains(&"--json".to_owned()) && options.contains(&"--variant".to_owned()), "{options:?}");
    assert!(completed("run --variant a= --").contains(&"--variant".to_owned()), "repeatable");
    assert!(!completed("run --placement free,").contains(&"free,free".to_owned()));
    assert!(completed("run --complete").is_empty() && completed("cond").is_empty(), "hidden");
}

#[test]
fn rows_are_those_of_the_suites_that_were_typed() {
    assert!(completed("run lmbench pipe/stream/").is_empty());
    assert!(!completed("run pipes pipe/stream/").is_empty());
}

#[test]
fn directories_and_files_are_left_to_the_shell() {
    let files = |line: &str| {
        let words = split::words(line);
        let (last, before) = words.split_last().expect("a word");
        let mut root = command();
        root.build();
        candidates(&root, before, last).files
    };
    assert_eq!(files("man "), Files::Directories);
    assert_eq!(files("report r -o "), Files::All);
    assert_eq!(files("run -qo "), Files::Directories);
    assert_eq!(files("run "), Files::None);
    assert_eq!(files("trace record -- "), Files::All);
}

/// A placeholder without a list is one whose values cannot be listed.
#[test]
fn every_placeholder_is_known() {
    const FREE: [&str; 21] = [
        "SIZES",
        "TIME",
        "COUNT",
        "NUMBER",
        "NAME=[KEY=VALUE ...] [COMMAND ...]",
        "NAME=VALUE",
        "SHARE",
        "TEXT",
        "PATTERNS",
        "SIZE",
        "SIZE[xCOUNT]",
        "BYTES",
        "PID",
        "LIST",
        "MID SID LEVEL",
        "DESCRIPTOR",
        "HOST,...",
        "PARENT",
        "WORDS",
        "",
        "STREAM",
    ];
    fn walk(command: &Command, name: &str) {
        for argument in command.get_arguments().filter(|argument| argument.is_positional() || takes_value(argument)) {
            let placeholder = argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
            let context = values::Context { command: command.get_name(), operands: &["a"] };
            let values = values::of(argument, &context, "");
            let is_known = FREE.contains(&placeholder) || values.files != Files::None || !values.words.is_empty();
            assert!(is_known || argument.get_long() == Some("resume"), "{name}: {} {placeholder}", argument.get_id());
        }
        for subcommand in
            command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
        {
            walk(subcommand, &format!("{name} {}", subcommand.get_name()));
        }
    }
    let mut root = command();
    root.build();
    walk(&root, "headwater");
}

#[test]
fn a_line_is_split_as_bash_does() {
    for (line, words) in [
        ("a b", &["a", "b"][..]),
        ("a 'b c", &["a", "b c"]),
        ("a \"b\\\"c\" ", &["a", "b\"c", ""]),
        ("a b\\ c", &["a", "b c"]),
        ("", &[""]),
    ] {
        assert_eq!(split::words(line), words, "{line}");
    }
}

use std::fs;

use super::{Reading, find};
use crate::sources;

/// Reads all rows of runs, and returns the runs' names.
fn read(names: &[String]) -> (Vec<String>, Reading) {
    let (mut reading, mut taken) = (Reading::default(), Vec::new());
    let take = |figure: super::Figure<'_>| taken.push(figure.origin.run.clone());
    reading.read(names, |_| true, take).expect("no archive is meant");
    taken.dedup();
    (taken, reading)
}

#[test]
fn a_directory_of_runs_and_a_pattern_mean_the_runs_in_it() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let root = dir.path().to_string_lossy().into_owned();
    for name in ["b", "a", "none", "torn"] {
        fs::create_dir(dir.path().join(name)).expect("a directory");
    }
    let run = sources::load("published:pipes/fc6").expect("it is compiled in").remove(0).1;
    let text = serde_json::to_string(&run).expect("a run");
    for name in ["a", "b"] {
        fs::write(dir.path().join(name).join("run.json"), &text).expect("a file");
    }
    fs::write(dir.path().join("torn/run.jsonl"), "{\"event\":").expect("a file");
    let names = |wanted: &str| find(&[format!("{root}{wanted}")]);
    let of = |found: Vec<String>| found.iter().map(|name| name[root.len() + 1..].to_owned()).collect::<Vec<_>>();
    assert_eq!(of(names("").expect("runs")), ["a", "b", "torn"]);
    assert_eq!(of(names("/?").expect("runs")), ["a", "b"]);
    assert!(names("/x*").expect_err("nothing matches").to_string().contains("no run has such a name"));
    assert!(names("/none").expect_err("it is empty").to_string().contains("holds no run"));
    let (taken, reading) = read(&names("").expect("runs"));
    assert_eq!((reading.runs, taken), (1, vec!["a".to_owned()]));
    let left = reading.left_out;
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].run == "b" && left[0].reason == "the same run as a", "{left:?}");
    assert!(left[1].run.ends_with("torn") && left[1].reason.contains("run.jsonl"), "{left:?}");
}

/// Hosts of one name begin their runs in the same second, as the jobs of a cluster do.
#[test]
fn runs_of_two_machines_are_two_although_they_share_name_and_time() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let mut run = sources::load("published:pipes/fc6").expect("it is compiled in").remove(0).1;
    for (name, machine, node) in [("a", "1", "n1"), ("b", "2", "n1"), ("c", "2", "n2"), ("d", "2", "n2")] {
        run.header.environment.machine = Some(machine.to_owned());
        run.header.labels.insert("node".to_owned(), node.to_owned());
        fs::create_dir(dir.path().join(name)).expect("a directory");
        let text = serde_json::to_string(&run).expect("a run");
        fs::write(dir.path().join(name).join("run.json"), text).expect("a file");
    }
    let (taken, reading) = read(&find(&[dir.path().to_string_lossy()]).expect("runs"));
    let left = &reading.left_out;
    assert_eq!((taken.len(), left.len(), left[0].reason.as_str()), (3, 1, "the same run as c"));
}

//! `headwater compare --by` over the hosts of a directory of runs, as a user runs it.

use std::fs;
use std::process::Output;

use headwater_results::schema::Run;

use crate::directory::TestDir;

impl TestDir {
    /// Makes runs of one measured run: of each host under the kernels 6.1 and 6.6, at 1 and at `factor`; a host without a
    /// factor has the first kernel only.
    fn fleet(&self, hosts: &[(&str, Option<f64>)]) {
        let words = "run pipe/stream/64 --placement same-cpu --time 5ms --launches 2 --label commit=c0 -o one";
        let output = self.run(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = fs::read_to_string(self.path("one/run.json")).expect("run.json");
        let measured: Run = serde_json::from_str(&text).expect("a run");
        for (number, (host, factor)) in hosts.iter().enumerate() {
            for (kernel, level) in [("6.1", Some(1.0)), ("6.6", *factor)] {
                let Some(level) = level else { continue };
                let mut run = measured.clone();
                run.header.run_id = format!("{kernel}-{number}");
                run.header.environment.host = (*host).to_owned();
                run.header.environment.machine = None;
                run.header.environment.kernel.release = kernel.to_owned();
                run.header.labels.insert("node".to_owned(), format!("node{number}"));
                let speed = 1e6 * (1.0 + number as f64);
                let own = &mut run.results[0].metrics[0];
                own.launches = (0..8).map(|at| speed * level * (1.0 + 0.002 * f64::from(at * 7 % 8))).collect();
                own.blocks = (0..8).collect();
                let directory = self.path("runs").join(&run.header.run_id);
                fs::create_dir_all(&directory).expect("a directory");
                fs::write(directory.join("run.json"), serde_json::to_string(&run).expect("a run")).expect("a file");
            }
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn expect(output: &Output, status: i32, parts: &[&str]) {
    let text = said(output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(status), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

const HOSTS: [(&str, Option<f64>); 5] =
    [("a", Some(0.90)), ("b", Some(0.91)), ("c", Some(0.90)), ("d", Some(0.89)), ("e", Some(0.905))];

#[test]
fn kernels_are_compared_over_hosts() {
    let dir = TestDir::new();
    dir.fleet(&HOSTS);
    let compare = |more: &[&str]| dir.run(&[&["compare", "runs/", "--by", "kernel"], more].concat());
    expect(&compare(&[]), 1, &["worse (lower)", "The replicates are 5 hosts"]);
    let json: serde_json::Value = serde_json::from_slice(&compare(&["--json"]).stdout).expect("JSON");
    let row = &json["comparisons"][0]["comparison"]["rows"][0];
    assert_eq!((row["ratio"]["n"].as_u64(), row["hosts"]["ratios"].as_array().map(Vec::len)), (Some(5), Some(5)));
    let csv = String::from_utf8(compare(&["--csv"]).stdout).expect("text");
    assert_eq!(csv.lines().count(), 1 + 1 + 5, "{csv}");
    expect(&compare(&["-o", "fleet.html"]), 1, &["fleet.html"]);
    assert!(fs::read_to_string(dir.path("fleet.html")).expect("a page").contains("5 hosts"));
    // Labels are factors, and what tells hosts apart; one that no run has is an error that names the others.
    expect(&dir.run(&["compare", "runs/6.1-*", "--by", "comit"]), 2, &["no run has a label comit", "kernel"]);
    expect(
        &dir.run(&["compare", "runs/6.1-*", "--by", "kernel", "--expect", "a,x"]),
        2,
        &["there is nothing to compare", "x"],
    );
    // Of a directory the side that was measured first is the baseline, whatever it is called.
    let text = fs::read_to_string(dir.path("runs/6.6-0/run.json")).expect("a run");
    let mut run: Run = serde_json::from_str(&text).expect("a run");
    run.header.started_at = "2000-01-01T00:00:00Z".to_owned();
    fs::write(dir.path("runs/6.6-0/run.json"), serde_json::to_string(&run).expect("a run")).expect("a file");
    expect(&compare(&[]), 0, &["6.1 against 6.6, the baseline", "better (higher)"]);
    expect(&compare(&["--baseline", "6.1"]), 1, &["6.6 against 6.1, the baseline"]);
    expect(&compare(&["--baseline", "6.1", "--over", "node"]), 1, &["5 hosts (by node)"]);
    expect(&compare(&["--over", "rack"]), 2, &["no label rack"]);
}

#[test]
fn hosts_without_both_sides_are_named_and_take_no_part() {
    let dir = TestDir::new();
    let equal = HOSTS.map(|(host, _)| (host, Some(1.0)));
    dir.fleet(&[&equal[..], &[("lonely", None)]].concat());
    let compare = |more: &[&str]| dir.run(&[&["compare", "runs/", "--by", "kernel"], more].concat());
    expect(&compare(&[]), 4, &["equivalent", "one side only, and so in no row: lonely (6.1)"]);
    expect(&compare(&["--expect", "a,b,gone"]), 4, &["Missing, without any run: gone."]);
    // A run that was cut off costs its host only.
    fs::write(dir.path("runs/6.6-0/run.json"), "{\"schema").expect("a file");
    expect(&compare(&[]), 4, &["equivalent", "a (6.1)", "6.6-0:", "The replicates are 4 hosts"]);
}

#[test]
fn one_host_has_verdicts_of_its_own_and_says_so() {
    let dir = TestDir::new();
    dir.fleet(&[("a", Some(0.5)), ("b", None)]);
    let compare = |runs: &[&str]| dir.run(&[&["compare"], runs, &["--by", "kernel"]].concat());
    let alone = ["the verdicts hold for this host", "launches on a", "worse"];
    expect(&compare(&["runs/6.1-0", "runs/6.6-0"]), 1, &alone);
    // The launches of the other host under the first kernel, at twice the rate, are not pooled with those of this one.
    expect(&compare(&["runs/"]), 1, &[&alone[..], &["b (6.1)", "0.500"]].concat());
    // Each kernel on another host says nothing about kernels.
    expect(&compare(&["runs/6.1-1", "runs/6.6-0"]), 2, &["no host has measured it in both"]);
}

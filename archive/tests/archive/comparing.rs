//! Comparisons over hosts from an archive: figures alone are read, and what is said is what the run directories say. HEADWATER names
//! the command; `cargo xtask ci` sets it.

use crate::support::headwater::headwater;
use crate::support::sample::Sample;
use crate::support::{TestDir, change, expect, on_both, text};

/// Runs of hosts under two kernels; the newer one is 5 % slower in one row. One host has the old kernel only, one run lacks a row.
fn fleet() -> Vec<Sample> {
    let mut samples = Vec::new();
    for host in 0..7 {
        for (kernel, level) in [("6.12.8", 1e6), ("6.18.2", 0.95e6)] {
            let is_new = kernel == "6.18.2";
            if is_new && host == 6 {
                continue;
            }
            let mut sample = Sample {
                host: format!("host{host}"),
                machine: Some(format!("{host}a5f")),
                kernel: kernel.to_owned(),
                started_at: format!("2026-11-{}T10:00:0{host}Z", if is_new { 24 } else { 10 }),
                labels: vec![("node".to_owned(), format!("n{host}"))],
                launches: 6,
                level: level * (1.0 + 0.1 * f64::from(host)) * (1.0 + 0.001 * f64::from(host % 3)),
                ..Sample::named(&format!("host{host}-{kernel}"))
            };
            if is_new && host == 0 {
                // A renamed host is the same one.
                sample.host = "renamed".to_owned();
            }
            if is_new && host == 1 {
                sample.rows.pop();
            }
            samples.push(sample);
        }
    }
    samples
}

#[test]
fn a_comparison_over_hosts_says_the_same_of_directories_and_of_the_archive() {
    let Some(_) = headwater() else { return };
    let dir = TestDir::new();
    for sample in fleet() {
        dir.run(&format!("runs/{}", sample.name), &sample.lines());
    }
    on_both(|copy, archive| {
        expect(&copy.archive(archive, &["add", "--quiet", text(&dir.path("runs"))]), 0, &[]);
        assert_eq!(copy.list(archive, "").len(), 13);
        for more in [
            &["--by", "kernel", "--csv"][..],
            &["--by", "kernel", "--json"],
            &["--by", "kernel", "--over", "node", "--expect", "n1,n99"],
            &["--by", "kernel", "--over", "name"],
            &["--by", "kernel", "-f", "rtt", "--baseline", "6.18.2", "-o", "-"],
        ] {
            let of_directories = dir.said("", &[&["compare", "runs"][..], more].concat());
            let of_archive = copy.said(archive, &[&["compare", "archive:"][..], more].concat());
            assert_eq!(of_archive.status, of_directories.status, "{more:?}");
            let [one, other] = [&of_directories, &of_archive].map(|output| String::from_utf8_lossy(&output.stdout));
            assert_eq!(other, one, "{more:?} {}", String::from_utf8_lossy(&of_archive.stderr));
            assert!(one.len() > 100, "{more:?}: {}", String::from_utf8_lossy(&of_directories.stderr));
        }
        let says = ["The replicates are 6 hosts", "worse", "host6 (6.12.8)", "Without some rows: host1 1 row"];
        expect(&copy.said(archive, &["compare", "archive:", "--by", "kernel"]), 1, &says);
        // The same run by two queries and from its directory counts once.
        let runs = dir.path("runs");
        let thrice = ["compare", "archive:", "archive:host=host2", text(&runs), "--by", "kernel"];
        let said = expect(&copy.said(archive, &thrice), 1, &["The replicates are 6 hosts", "the same run as"]);
        assert_eq!(said.matches("the same run as").count(), 2 + 13, "{said}");
    });
}

#[test]
fn a_comparison_over_hosts_reads_no_whole_run() {
    let Some(_) = headwater() else { return };
    on_both(|dir, archive| {
        for sample in fleet() {
            dir.add(archive, &dir.run(&sample.name, &sample.lines()));
        }
        change(archive, "DELETE FROM {}part");
        expect(&dir.said(archive, &["show", "archive:last=1"]), 2, &["damaged"]);
        expect(&dir.said(archive, &["compare", "archive:", "--by", "kernel"]), 1, &["The replicates are 6 hosts"]);
        expect(&dir.said(archive, &["history", "rtt", "archive:"]), 0, &["7 lines"]);
    });
}

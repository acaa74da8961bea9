use headwater_gauge::harness::external::{describe, start_team};
use headwater_gauge::plan::rows::of_external;
use headwater_gauge::{patterns, transports};
use headwater_results::schema::Placement;

use super::*;
use crate::crosscheck::pairs::job;

/// Transports of the kernel without a plain program: they send several datagrams per call, which only pattern `flood`
/// uses, and `crosscheck-netperf` has that.
const WITHOUT: [&str; 2] = ["udp-mmsg", "udp-gso"];

/// Transports that are ours, or none.
fn is_own(name: &str) -> bool {
    ["streams-", "xti-", "ring-"].iter().any(|prefix| name.starts_with(prefix)) || name == "null"
}

#[test]
fn every_transport_of_the_kernel_is_measured_alone_and_as_an_external_transport() {
    let place = tempfile::tempdir().expect("a directory");
    let mechanisms = build(place.path()).expect("the programs build");
    for info in transports::TABLE.iter().map(|entry| entry.info).filter(|info| !is_own(info.name)) {
        let known = mechanisms.iter().any(|mechanism| mechanism.name == info.name);
        assert_ne!(known, WITHOUT.contains(&info.name), "{}: a plain program, or a reason", info.name);
    }
    let cpu = headwater_os::cpu::allowed().expect("CPUs")[0];
    for mechanism in &mechanisms {
        let info = transports::find(&mechanism.name).expect("the name of a transport").info;
        for (pattern, size) in [("stream", 64), ("stream", 8192), ("rtt", 1), ("rtt", 8192)] {
            let entry = patterns::find(pattern).expect("a pattern");
            if (entry.accepts)(info, size).is_err() {
                continue;
            }
            let what = format!("{}/{pattern}/{size}", mechanism.name);
            let alone = mechanism.alone(pattern, size as u64, (cpu, cpu), Duration::from_millis(1));
            assert!(alone.as_ref().is_ok_and(|figure| *figure > 0.0), "{what} alone: {alone:?}");

            let description = describe(&mechanism.command()).expect("it describes itself");
            assert_eq!(description.name, format!("c-{}", mechanism.name));
            let row = of_external(&description, entry.info, size as u64, Placement::Free);
            let mut job = job(&row, (0.004, 0.001), None, place.path(), size as u32);
            job.token = what.replace('/', "-");
            let mut team = start_team(&mechanism.command(), &job).expect(&what);
            let measured = (entry.conduct)(&mut team, &job).expect(&what);
            team.finish().expect(&what);
            assert!(measured.series[&row.metrics[0].name].iter().all(|figure| *figure > 0.0), "{what}");
        }
    }
    let left: Vec<_> = fs::read_dir(place.path()).expect("the directory").flatten().map(|entry| entry.path()).collect();
    assert!(left.iter().all(|path| mechanisms.iter().any(|mechanism| mechanism.program == *path)), "left: {left:?}");
}

#[test]
fn a_figure_has_the_unit_of_its_pattern() {
    assert_eq!(figure("612345.6 messages/s (9 messages in 1.0 ms)\n", "messages/s"), Some(612_345.6));
    assert_eq!(figure("612345.6 messages/s (9 messages in 1.0 ms)\n", "ns"), None);
    assert_eq!(figure("10.5 ns (2 exchanges in 1.0 ms)\n", "ns"), Some(10.5));
    assert_eq!(figure("nsx", "ns"), None);
}

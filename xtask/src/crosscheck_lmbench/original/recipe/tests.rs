use super::*;
use crate::crosscheck_lmbench::rows_of_suite;

#[test]
fn figures_are_found_in_the_output_of_the_programs() {
    for (printed, text, value) in [
        (Printed::Before("microseconds"), "Simple syscall: 0.0902 microseconds\n", Some(0.0902)),
        (Printed::Before("microseconds"), "Pagefaults on f64: 0.1209 microseconds\n", Some(0.1209)),
        (Printed::Before("microseconds"), "Protection fault: -0.1 microseconds\n", None),
        (Printed::Before("MB/sec"), "0.065536 409.07 MB/sec\n", Some(409.07)),
        (Printed::Before("MHz"), "3070 MHz, 0.3257 nanosec clock\n", Some(3070.0)),
        (Printed::Second, "67.11 3846.22\n", Some(3846.22)),
        (Printed::Second, "usage: bw_mem\n", None),
        (Printed::Switch, "\n\"size=64k ovr=1.41\n96 4.96\n", Some(4.96)),
        (Printed::PerSecond { kib: 0, column: 2 }, "0k\t6002\t5000\t200000\n10k\t5065\t135088\t250555\n", Some(200.0)),
        (Printed::PerSecond { kib: 0, column: 3 }, "0k\t6002\t5000\t200000\n10k\t5065\t135088\t250555\n", Some(5.0)),
        (Printed::PerSecond { kib: 4, column: 3 }, "0k\t6002\t5000\t200000\n", None),
        (Printed::Latency(512), "\"stride=128\n0.25000 1.8\n0.50000 1.6\n1.00000 1.5\n", Some(1.6)),
        (Printed::Latency(20), "\"stride=128\n0.01562 1.1\n0.02344 1.2\n", Some(1.2)),
    ] {
        assert_eq!(printed.value(text), value, "{printed:?} of {text:?}");
    }
}

/// Rows of the suite that no original program measures, or whose program needs a port mapper.
const WITHOUT: [&str; 8] = [
    "fstat-inline",
    "l1-cache-random",
    "l2-cache-random",
    "main-memory-random",
    "null-call-inline",
    "null-io-inline",
    "rpc-tcp",
    "rpc-udp",
];

#[test]
fn every_row_of_lmbench_has_an_original_or_is_listed() {
    let rows = rows_of_suite(&[]).expect("the suite");
    let rows = rows.iter().filter(|row| row.pattern != "kernel");
    let without: Vec<&str> = rows.map(|row| row.subject.as_str()).filter(|row| recipe(row).is_none()).collect();
    let mut sorted = without.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, WITHOUT);
}

#[test]
fn the_parameters_of_a_row_are_those_of_its_call() {
    let words = |subject| recipe(subject).expect("a recipe").calls[0].join(" ");
    assert_eq!(words("ctxsw-96p-64k"), "-s 64 96");
    assert_eq!(words("select-250-tcp"), "-n 250 tcp");
    assert_eq!(words("select-10-fd"), "-n 10 file");
    assert_eq!(words("delete-4k"), "-s 4k");
    assert!(recipe("stat").expect("a recipe").takes_file() && !recipe("pipe").expect("a recipe").takes_file());
}

//! The CPU time per message as a metric, for patterns that measure the cost of a message. Called at the end of a
//! launch.

use headwater_results::schema::Better;

use super::MetricInfo;
use crate::harness::conduct::Measured;

/// CPU time of all processes, user and system, per operation.
pub(super) const CPU: MetricInfo = MetricInfo { name: "cpu", unit: "ns", better: Better::Lower };

/// The error of `getrusage(2)` for a process in a round, s: both of its times are truncated to microseconds.
const RESOLUTION_S: f64 = 1e-6;

/// Computes the metric from the added costs and the counter `operations`; adds nothing if no worker reported its cost.
pub(super) fn add(measured: &mut Measured) {
    let ends_with = |what: &str| -> Option<f64> {
        let mut times = measured.counters.iter().filter(|(name, _)| name.ends_with(what)).map(|(_, time)| *time);
        times.next().map(|first| first + times.sum::<f64>())
    };
    let total_s = ends_with("_user_s").zip(ends_with("_system_s")).map(|(user_s, system_s)| user_s + system_s);
    let operations = measured.counters.get("operations").copied().filter(|&operations| operations > 0.0);
    if let Some((total_s, operations)) = total_s.zip(operations) {
        measured.series.insert(CPU.name.into(), vec![total_s.max(RESOLUTION_S) * 1e9 / operations]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_both_ends_is_shared_by_all_operations() {
        let counters = [
            ("sender_user_s", 1e-3),
            ("sender_system_s", 2e-3),
            ("receiver_user_s", 3e-3),
            ("receiver_system_s", 4e-3),
            ("throttled_s", 5.0),
            ("operations", 1000.0),
        ];
        let mut measured =
            Measured { counters: counters.map(|(name, value)| (name.to_owned(), value)).into(), ..Measured::default() };
        add(&mut measured);
        let cpu_ns = measured.series["cpu"][0];
        assert!((cpu_ns - 10_000.0).abs() < 1e-6, "{cpu_ns}");
    }

    #[test]
    fn workers_that_say_nothing_of_their_cost_have_no_figure() {
        let mut measured = Measured { counters: [("operations".to_owned(), 1.0)].into(), ..Measured::default() };
        add(&mut measured);
        assert!(measured.series.is_empty());
    }
}

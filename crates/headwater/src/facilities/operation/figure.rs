//! What the figure of an operation is: its metric, and how a duration becomes it.

use headwater_results::schema::Better;

use crate::patterns::MetricInfo;

/// The figure of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Time of one, us.
    Microseconds,
    /// Time of one, ns.
    Nanoseconds,
    /// Bytes per second, in MB/s (1 MB = 10^6 bytes).
    Bandwidth,
    /// Cycles per second, in MHz.
    Clock,
}

impl Figure {
    /// Its metric, under the names of the published table `ltt`.
    pub const fn metrics(self) -> &'static [MetricInfo] {
        match self {
            Figure::Microseconds => &[MetricInfo { name: "elapsed", unit: "us", better: Better::Lower }],
            Figure::Nanoseconds => &[MetricInfo { name: "elapsed", unit: "ns", better: Better::Lower }],
            Figure::Bandwidth => &[MetricInfo { name: "bandwidth", unit: "MB/s", better: Better::Higher }],
            Figure::Clock => &[MetricInfo { name: "clock", unit: "MHz", better: Better::Higher }],
        }
    }

    /// The value of an operation that takes `ns` and counts for `quantity`.
    pub fn value(self, ns: f64, quantity: f64) -> f64 {
        match self {
            Figure::Microseconds => ns / quantity / 1e3,
            Figure::Nanoseconds => ns / quantity,
            // Millions per second.
            Figure::Bandwidth | Figure::Clock => quantity / ns * 1e3,
        }
    }

    /// Whether it is a time, so that the quantity of an operation is a number of lesser operations.
    pub const fn is_time(self) -> bool {
        matches!(self, Figure::Microseconds | Figure::Nanoseconds)
    }
}

//! The figure of an operation: its metric, and how a duration becomes its value.

use headwater_results::schema::Better;

use crate::patterns::MetricInfo;

/// The unit of an operation's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Time of one operation in us.
    Microseconds,
    /// Time of one operation in ns.
    Nanoseconds,
    /// Bytes per second, in MB/s (1 MB = 10^6 bytes).
    Bandwidth,
    /// Cycles per second, in MHz.
    Clock,
}

impl Figure {
    /// Returns the metric, with the names of the published table `ltt`.
    pub const fn metrics(self) -> &'static [MetricInfo] {
        match self {
            Figure::Microseconds => &[MetricInfo { name: "elapsed", unit: "us", better: Better::Lower }],
            Figure::Nanoseconds => &[MetricInfo { name: "elapsed", unit: "ns", better: Better::Lower }],
            Figure::Bandwidth => &[MetricInfo { name: "bandwidth", unit: "MB/s", better: Better::Higher }],
            Figure::Clock => &[MetricInfo { name: "clock", unit: "MHz", better: Better::Higher }],
        }
    }

    /// Returns the value for an operation that takes `ns` and has the given quantity.
    pub fn value(self, ns: f64, quantity: f64) -> f64 {
        match self {
            Figure::Microseconds => ns / quantity / 1e3,
            Figure::Nanoseconds => ns / quantity,
            // Millions per second.
            Figure::Bandwidth | Figure::Clock => quantity / ns * 1e3,
        }
    }

    /// Whether the figure is a time. Then the quantity is the number of smaller operations in one operation.
    pub const fn is_time(self) -> bool {
        matches!(self, Figure::Microseconds | Figure::Nanoseconds)
    }
}

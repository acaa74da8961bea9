//! Seeded random numbers for the tests of this crate. Never compiled into the library.

use crate::schema::{Better, Metric, Placement, Row, Standing};

/// splitmix64 (Steele, Lea and Flood, 2014): small, seeded, the same everywhere.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in the open interval from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Mostly normal; one in ten values has ten times the spread, as on a machine that is sometimes disturbed.
    pub fn contaminated(&mut self) -> f64 {
        let scale = if self.unit() < 0.1 { 10.0 } else { 1.0 };
        scale * self.normal()
    }
}

/// Values around 100 with the given relative spread.
pub(crate) fn noise(random: &mut Random, n: usize, spread: f64) -> Vec<f64> {
    (0..n).map(|_| 100.0 * (1.0 + spread * random.normal())).collect()
}

/// A row of streaming with the metrics `rate` and `loss`.
pub(crate) fn row(id: &str) -> Row {
    let metric = |name: &str, unit: &str, better| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
    Row {
        id: id.to_owned(),
        subject: "pipe".to_owned(),
        pattern: "stream".to_owned(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::TwoCpus,
        size_bytes: Some(64),
        messages: None,
        workers: None,
        worker_kind: None,
        metrics: vec![metric("rate", "messages/s", Better::Higher), metric("loss", "ratio", Better::Lower)],
    }
}

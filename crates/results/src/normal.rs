//! The standard normal distribution. Used if there are too many launches to count, and for the drift of a machine.

/// Returns P(Z < z) of a standard normal variable.
pub(crate) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Returns the value below which a standard normal variable is with probability `p` in 0.5..1, by bisection.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle: f64 = f64::midpoint(low, high);
        if normal_below(middle) < p { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, expected) in [(0.5, 0.0), (0.9, 1.281_551_6), (0.975, 1.959_964), (0.9995, 3.290_526_7)] {
            let found = normal_quantile(p);
            assert!((found - expected).abs() < 1e-6, "{p}: {found}");
            assert!((normal_below(found) - p).abs() < 1e-12, "{p}");
        }
    }
}

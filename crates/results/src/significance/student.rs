//! Student's t over a few hosts: the mean of their log ratios with its interval and p-value. Called by comparisons over
//! hosts, which have too few for ranks, and by the search for hosts that differ from the rest.
//!
//! Hosts need not have equal variances: at levels of 8 % and below the test is exact or conservative for independent
//! normal values of any variances, and for mixtures of such values, which heavy tails are (Bakirov and Székely 2006;
//! Ibragimov and Müller 2010 for means of groups).

use super::shift::Shift;

/// Returns the shift of values as their mean, with Student's interval, which is wrong with probability `alpha`. `None` if
/// there are none, or one is not finite. A single value has an interval of no width that covers nothing.
pub fn shift(values: &[f64], alpha: f64) -> Option<Shift> {
    let n = values.len();
    if n == 0 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let centre = values.iter().sum::<f64>() / n as f64;
    if n == 1 {
        return Some(Shift { centre, low: centre, high: centre, confidence: 0.0, p: 1.0, p_reachable: 1.0, n });
    }
    let error = (variance(values, centre) / n as f64).sqrt();
    let half_width = quantile(alpha, n - 1) * error;
    // Equal values that are not 0 have no error: what they have in common is certain only as far as it is not rounding.
    let p = if error > 0.0 { beyond(centre / error, n - 1) } else { f64::from(u8::from(centre == 0.0)) };
    let (low, high) = (centre - half_width, centre + half_width);
    Some(Shift { centre, low, high, confidence: 1.0 - alpha, p, p_reachable: 0.0, n })
}

/// Returns the variance of values around their mean.
pub fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Returns P(|T| > |t|) of Student's distribution.
pub fn beyond(t: f64, degrees: usize) -> f64 {
    let degrees = degrees as f64;
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// Returns the t that is exceeded in absolute value with probability `alpha`, by bisection of its logarithm.
pub fn quantile(alpha: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if beyond(middle.exp(), degrees) > alpha { low = middle } else { high = middle }
    }
    high.exp()
}

/// The regularised incomplete beta function (DLMF 8.17.22, evaluated by Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = a * x.ln() + b * (1.0 - x).ln() + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..300 {
        let m = f64::from(step);
        let terms = [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ];
        let mut change = 1.0;
        for term in terms {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front.exp() * fraction / a
}

#[cfg(test)]
mod tests;

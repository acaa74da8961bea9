//! Formats numbers of one unit with the same number of decimals. Used by tables.

use crate::units;

/// The number of decimals of a column, so that its values can be compared by eye.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    decimals: usize,
}

/// Numbers from here on have no decimals.
const WHOLE_FROM: f64 = 10_000.0;

impl Fixed {
    /// For these values: enough decimals for three digits of the smallest, at most two.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Fixed {
        let values: Vec<f64> = values.into_iter().map(f64::abs).filter(|&value| value > 0.0).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let decimals = match least {
            _ if values.iter().any(|&value| value >= WHOLE_FROM) => 0,
            least if least < 10.0 => 2,
            least if least < 100.0 => 1,
            _ => 0,
        };
        Fixed { decimals }
    }

    /// For these values: three digits of the smallest, whatever the size of the others.
    pub fn three_digits(values: impl IntoIterator<Item = f64>) -> Fixed {
        const DECIMALS_MAX: f64 = 4.0;
        let least = values.into_iter().map(f64::abs).filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
        // Considers rounding: 9.999 is printed as 10.0.
        let decimals = 2.0 - (least * 1.0005).log10().floor();
        Fixed { decimals: decimals.clamp(0.0, DECIMALS_MAX) as usize }
    }

    /// Formats the number, with thousands separated.
    pub fn text(self, value: f64) -> String {
        let digits = format!("{value:.0$}", self.decimals);
        match digits.split_once('.') {
            Some((_, decimals)) if value.abs() >= 1000.0 => {
                // After rounding, the part before the point is an integer.
                let whole = digits[..digits.len() - decimals.len() - 1].parse().unwrap_or(value);
                format!("{}.{decimals}", units::grouped(whole))
            }
            Some(_) => digits,
            None => units::grouped(value),
        }
    }
}

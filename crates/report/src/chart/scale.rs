//! Maps values to positions along an axis, and chooses ticks. Used by every chart; independent of the quantity.

/// How values are distributed along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Linear.
    Linear,
    /// Linear, with ticks at powers of two: sizes in bytes.
    LinearSize,
    /// Linear, with ticks at whole numbers: places in an order.
    Places,
    /// Logarithmic, with ticks at powers of two: sizes in bytes.
    Log2,
    /// Logarithmic.
    Log10,
    /// Percentiles 0..100, such that each further nine has the same length: -log10(1 - q).
    Percentile,
}

/// The mapping of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    spread: Spread,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Returns a scale that maps `low..high` to the positions `from..to`. An empty or invalid range is widened, so that
    /// every scale can draw.
    pub fn new(spread: Spread, (low, high): (f64, f64), (from, to): (f64, f64)) -> Scale {
        let (low, high) = widened(spread, low, high);
        Scale { spread, low, high, from, to }
    }

    /// Returns the position of a value; `None` if it is not finite, or not positive on a logarithmic scale.
    pub fn at(&self, value: f64) -> Option<f64> {
        let (value, low, high) = (self.unrolled(value), self.unrolled(self.low), self.unrolled(self.high));
        let place = self.from + (value - low) / (high - low) * (self.to - self.from);
        place.is_finite().then_some(place)
    }

    /// Returns the position as [`Scale::at`], clamped to the axis.
    pub fn within(&self, value: f64) -> Option<f64> {
        let (least, most) = if self.from < self.to { (self.from, self.to) } else { (self.to, self.from) };
        self.at(value).map(|place| place.clamp(least, most))
    }

    /// Returns the values at the ends of the axis.
    #[cfg(test)]
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn unrolled(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear | Spread::LinearSize | Spread::Places => value,
            Spread::Log2 | Spread::Log10 => value.log10(),
            Spread::Percentile => -(1.0 - value / 100.0).log10(),
        }
    }

    /// Returns about `count` values for ticks, ascending. A logarithmic axis has one at each end that is a round number.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let ticks = match self.spread {
            Spread::Linear => linear(self.low, self.high, step_of_ten((self.high - self.low) / count.max(1) as f64)),
            Spread::Places => {
                linear(self.low, self.high, step_of_ten((self.high - self.low) / count.max(1) as f64).max(1.0))
            }
            Spread::LinearSize => spaced_powers_of_two(self.low, self.high, count),
            Spread::Log2 => {
                let ends = [2f64.powf((self.low.log2() - 1e-9).ceil()), 2f64.powf((self.high.log2() + 1e-9).floor())];
                with_ends(powers_of_two(self.low, self.high, count), ends, self.gap(count))
            }
            Spread::Log10 => {
                let is_round = |end: f64| (round_below(end) / end - 1.0).abs() < 1e-9;
                let ticks = decades(self.low, self.high, count);
                let ends = [self.low, self.high].into_iter().filter(|end| is_round(*end));
                with_ends(ticks, ends, self.gap(2 * count))
            }
            Spread::Percentile => PERCENTS.to_vec(),
        };
        let slack = 1e-9 * (self.high - self.low).abs();
        ticks.into_iter().filter(|tick| (self.low - slack..=self.high + slack).contains(tick)).collect()
    }

    /// Returns ticks as [`Scale::ticks`], each preceded by its position.
    pub fn placed_ticks(&self, count: usize) -> Vec<(f64, f64)> {
        self.ticks(count).into_iter().filter_map(|value| Some((self.at(value)?, value))).collect()
    }

    /// Returns the factor between neighbouring ticks of a logarithmic axis, if there are `count`.
    fn gap(&self, count: usize) -> f64 {
        (self.high / self.low).powf(1.0 / count.max(1) as f64)
    }

    /// Rounds the range, so that the outermost ticks are the ends of the axis. Sizes and percentiles are not changed.
    pub fn rounded(spread: Spread, (low, high): (f64, f64), count: usize) -> (f64, f64) {
        let (low, high) = widened(spread, low, high);
        let step = match spread {
            Spread::Linear => step_of_ten((high - low) / count.max(1) as f64),
            Spread::Log10 => return (round_below(low), round_above(high)),
            _ => return (low, high),
        };
        ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
    }
}

/// The percentiles with a tick.
const PERCENTS: [f64; 7] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Returns a range that can be drawn.
fn widened(spread: Spread, low: f64, high: f64) -> (f64, f64) {
    let (low, high) = if low.is_finite() && high.is_finite() { (low.min(high), low.max(high)) } else { (1.0, 2.0) };
    match spread {
        Spread::Log2 | Spread::Log10 => {
            let high = if high > 0.0 { high } else { 1.0 };
            let low = if low > 0.0 { low } else { high / 10.0 };
            if high / low < 1.0 + 1e-9 { (low / 2.0, high * 2.0) } else { (low, high) }
        }
        Spread::Percentile => (low.clamp(0.0, 99.0), high.clamp(50.0, 99.9999)),
        Spread::Linear | Spread::LinearSize | Spread::Places if high - low <= 1e-12 * high.abs().max(1e-300) => {
            let half = if high == 0.0 { 1.0 } else { high.abs() / 2.0 };
            (low - half, high + half)
        }
        Spread::Linear | Spread::LinearSize | Spread::Places => (low, high),
    }
}

/// Returns 1, 2 or 5 times a power of ten, at least `raw`.
fn step_of_ten(raw: f64) -> f64 {
    let magnitude = 10f64.powf(raw.abs().max(1e-300).log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|factor| factor * magnitude).find(|step| *step >= raw * 0.999).unwrap_or(raw)
}

fn linear(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    // One tick per step. The limit only prevents an endless loop if the step is lost to rounding.
    let ticks = (0..1000).map(|index| (first + f64::from(index)) * step);
    ticks.take_while(|tick| *tick <= high + step * 1e-9).map(|tick| if tick == 0.0 { 0.0 } else { tick }).collect()
}

/// Returns every power of two, or every second, fourth, fifth or tenth, so that 1 B, 1 KiB and 1 MiB keep their ticks.
fn powers_of_two(low: f64, high: f64, count: usize) -> Vec<f64> {
    let (first, last) = ((low.log2() - 1e-9).ceil() as i32, (high.log2() + 1e-9).floor() as i32);
    let needed = (last - first + 1 + count.max(1) as i32 - 1) / count.max(1) as i32;
    let every = [1, 2, 4, 5, 10].into_iter().find(|step| *step >= needed).unwrap_or(10);
    let ticks: Vec<f64> =
        (first..=last).filter(|power| power.rem_euclid(every) == 0).map(|power| 2f64.powi(power)).collect();
    if ticks.len() > 1 { ticks } else { vec![2f64.powi(first), 2f64.powi(last)] }
}

/// Returns zero and the powers of two that are far enough apart on a linear axis, from the largest one down.
fn spaced_powers_of_two(low: f64, high: f64, count: usize) -> Vec<f64> {
    let gap = (high - low) / count.max(1) as f64;
    let mut ticks: Vec<f64> = Vec::new();
    let mut tick = 2f64.powf((high.max(1.0).log2() + 1e-9).floor());
    while tick >= 1.0 && tick >= low && tick - low.max(0.0) >= gap {
        if ticks.last().is_none_or(|last| last - tick >= gap) {
            ticks.push(tick);
        }
        tick /= 2.0;
    }
    if low <= 0.0 {
        ticks.push(0.0);
    }
    ticks.reverse();
    ticks
}

/// The ticks within a decade, from many to none.
const FACTORS: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

/// The factors within a decade at which a logarithmic axis may end.
const ENDS: &[f64] = FACTORS[1];

/// Returns the largest round number, of those in [`ENDS`], that is at most `value`.
fn round_below(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let fits = |factor: &f64| factor * decade <= value * (1.0 + 1e-9);
    ENDS.iter().copied().rev().find(fits).map_or(value, |factor| factor * decade)
}

/// Returns the smallest round number that is at least `value`.
fn round_above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let fits = |factor: &f64| factor * decade >= value * (1.0 - 1e-9);
    ENDS.iter().copied().chain([10.0]).find(fits).map_or(value, |factor| factor * decade)
}

/// Returns the ticks and the ends, without the ticks that are closer to an end than the factor `gap`.
fn with_ends(ticks: Vec<f64>, ends: impl IntoIterator<Item = f64>, gap: f64) -> Vec<f64> {
    let mut ticks = ticks;
    for end in ends {
        ticks.retain(|tick| (tick / end).max(end / tick) >= gap);
        let place = ticks.iter().position(|tick| *tick > end).unwrap_or(ticks.len());
        ticks.insert(place, end);
    }
    ticks
}

/// Returns ticks in decades, with as many between them as fit; with little room, only every second or third decade.
fn decades(low: f64, high: f64, count: usize) -> Vec<f64> {
    let span = high.log10() - low.log10();
    if span < 0.3 {
        return linear(low, high, step_of_ten((high - low) / count.max(1) as f64));
    }
    let fits = |factors: &&&[f64]| span * factors.len() as f64 <= count as f64 + 1.0;
    let factors = FACTORS.iter().find(fits).unwrap_or(&FACTORS[FACTORS.len() - 1]);
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = ((last - first) / (count.max(1) as i32 + 1)).max(0) + 1;
    let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
    powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power))).collect()
}

#[cfg(test)]
mod tests;

//! The delay of a message as a line over its size, d = alpha + beta * size; several lines if one does not suffice. Used
//! by the delay view of the report.
//!
//! Each block is fitted separately, and the blocks' parameters are the replicates: their median is the estimate, and
//! its interval is that of order statistics, so that a disturbed block affects neither. The spread of a delay is
//! proportional to the delay, so every size is weighted by one over the square of its median delay: the fit minimises
//! relative errors.

use crate::estimate::{Estimate, median};
use crate::sorting::Arrange;

/// The delays of one message size.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayPoint {
    /// Bytes per message.
    pub size_bytes: u64,
    /// Seconds per message, one value per launch.
    pub delays_s: Vec<f64>,
    /// The block of each launch.
    pub blocks: Vec<u32>,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// Median over blocks.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The fitted lines, one for each range of sizes between knees.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayFit {
    /// At least one, in the order of sizes, without overlaps.
    pub segments: Vec<Segment>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The smallest size on the line, bytes.
    pub size_min: u64,
    /// The largest size on the line, bytes.
    pub size_max: u64,
    /// The fixed cost of a message, s.
    pub alpha_s: Bounded,
    /// The cost of a byte, s.
    pub beta_s_per_byte: Bounded,
    /// 1 / beta, the asymptotic bandwidth in bytes/s; absent if beta may be zero.
    pub bandwidth_bytes_per_s: Option<Bounded>,
    /// alpha / beta, the size at which half the bandwidth is reached, in bytes; absent if beta or alpha may be zero.
    pub half_size_bytes: Option<Bounded>,
    /// By size: the distance of the median delay from the line, as a share of the line.
    pub residuals: Vec<(u64, f64)>,
    /// The number of sizes on the line.
    pub points: u32,
}

/// The minimum number of sizes for a line: two always lie on one.
const POINTS_MIN: usize = 3;

/// The most lines. More would follow the curve instead of explaining it.
const SEGMENTS_MAX: usize = 3;

/// A line explains the delays well enough if the root mean square of relative errors is at most 5 %.
const RESIDUAL_MIN: f64 = 0.05;

/// Two lines must leave less than this share of one line's squared errors. Twelve points scattered about one line
/// exceed this share in 99 of 100 cases.
const KNEE_SHARE_MAX: f64 = 0.2;

/// The effect of a knee must be this many times larger than the scatter between blocks.
const KNEE_NOISE_RATIO: f64 = 3.0;

/// Fits the delays over sizes. `None` with fewer than three sizes, or if no block has a value at every size.
///
/// The rule is MEASURING.md section 3 (b).
pub fn fit_delay(points: &[DelayPoint]) -> Option<DelayFit> {
    let table = Table::of(points)?;
    let whole: Range = 0..table.sizes.len();
    let mut ranges: Vec<Range> = Vec::from([whole]);
    while ranges.len() < SEGMENTS_MAX {
        let Some((index, split)) =
            ranges.iter().enumerate().find_map(|(index, range)| Some((index, table.knee(range.clone())?)))
        else {
            break;
        };
        let range = ranges[index].clone();
        ranges.splice(index..=index, [range.start..split, split..range.end]);
    }
    let segments = ranges.into_iter().filter_map(|range| table.segment(range)).collect::<Vec<_>>();
    (!segments.is_empty()).then_some(DelayFit { segments })
}

/// The delays of the blocks that have all sizes.
struct Table {
    sizes: Vec<u64>,
    /// Median delay by size.
    medians: Vec<f64>,
    /// Delays by block, then by size.
    blocks: Vec<Vec<f64>>,
}

type Range = std::ops::Range<usize>;

impl Table {
    fn of(points: &[DelayPoint]) -> Option<Table> {
        let mut points: Vec<&DelayPoint> = points.iter().collect();
        points.arrange_by_key(|point| point.size_bytes);
        points.dedup_by_key(|point| point.size_bytes);
        let usable = |delay: &f64| delay.is_finite() && *delay > 0.0;
        let delay = |point: &DelayPoint, block: u32| {
            let at = point.blocks.iter().position(|&other| other == block)?;
            point.delays_s.get(at).copied().filter(usable)
        };
        let mut of_blocks = points.first()?.blocks.clone();
        of_blocks.sort_unstable();
        of_blocks.dedup();
        let blocks: Vec<Vec<f64>> = of_blocks
            .into_iter()
            .filter_map(|block| points.iter().map(|point| delay(point, block)).collect::<Option<Vec<f64>>>())
            .collect();
        let sizes: Vec<u64> = points.iter().map(|point| point.size_bytes).collect();
        if sizes.len() < POINTS_MIN || blocks.is_empty() {
            return None;
        }
        let at_size = |index: usize| blocks.iter().map(|block| block[index]).collect::<Vec<f64>>();
        let medians = (0..sizes.len()).map(|index| median(&at_size(index))).collect::<Option<Vec<f64>>>()?;
        Some(Table { sizes, medians, blocks })
    }

    /// Returns alpha and beta of the weighted least squares line through `delays` in `range`. Sizes are relative to the
    /// largest one, which keeps the sums finite.
    fn line(&self, range: Range, delays: &[f64]) -> Option<(f64, f64)> {
        let scale = *self.sizes[range.clone()].last()? as f64;
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for index in range {
            let weight = (self.medians[index] / self.medians[0]).powi(-2);
            let (x, y) = (self.sizes[index] as f64 / scale, delays[index]);
            w += weight;
            wx += weight * x;
            wy += weight * y;
            wxx += weight * x * x;
            wxy += weight * x * y;
        }
        let determinant = w * wxx - wx * wx;
        let (alpha, beta) = ((wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant / scale);
        (alpha.is_finite() && beta.is_finite()).then_some((alpha, beta))
    }

    /// Returns the sum of squared relative errors of the medians about their line.
    fn squared_errors(&self, range: Range) -> Option<f64> {
        let (alpha, beta) = self.line(range.clone(), &self.medians)?;
        let error = |index: usize| (alpha + beta * self.sizes[index] as f64) / self.medians[index] - 1.0;
        Some(range.map(|index| error(index).powi(2)).sum())
    }

    /// Returns the mean squared relative error of a median that the scatter between blocks alone would cause.
    fn noise(&self, range: Range) -> f64 {
        if self.blocks.len() < 2 {
            return 0.0;
        }
        // A block's level affects all its sizes equally and bends no line, so it is removed first.
        let levels: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| {
                let logs: Vec<f64> = range.clone().map(|index| (block[index] / self.medians[index]).ln()).collect();
                median(&logs).unwrap_or(0.0)
            })
            .collect();
        let mut squares: Vec<f64> = Vec::new();
        for (block, level) in self.blocks.iter().zip(&levels) {
            squares.extend(range.clone().map(|index| ((block[index] / self.medians[index]).ln() - level).powi(2)));
        }
        // The median of squares of a normal variable is 0.455 of its variance; a median's variance is pi/2 times a
        // mean's.
        let variance = median(&squares).unwrap_or(0.0) / 0.455;
        variance * std::f64::consts::FRAC_PI_2 / self.blocks.len() as f64
    }

    /// Returns the index of the first size after the knee of the range, if there is one.
    fn knee(&self, range: Range) -> Option<usize> {
        let one = self.squared_errors(range.clone())?;
        let mean_one = one / range.len() as f64;
        let large = mean_one.sqrt() > RESIDUAL_MIN && mean_one > KNEE_NOISE_RATIO.powi(2) * self.noise(range.clone());
        if !large {
            return None;
        }
        let splits = (range.start + POINTS_MIN)..=range.end.checked_sub(POINTS_MIN)?;
        let two = splits.filter_map(|split| {
            Some((split, self.squared_errors(range.start..split)? + self.squared_errors(split..range.end)?))
        });
        let (split, two) = two.min_by(|a, b| a.1.total_cmp(&b.1))?;
        (two < KNEE_SHARE_MAX * one).then_some(split)
    }

    fn segment(&self, range: Range) -> Option<Segment> {
        let lines: Vec<(f64, f64)> = self.blocks.iter().filter_map(|block| self.line(range.clone(), block)).collect();
        let over_blocks = |of: fn(&(f64, f64)) -> f64| {
            let estimate = Estimate::of_launches(&lines.iter().map(of).collect::<Vec<f64>>())?;
            Some(Bounded { value: estimate.median, low: estimate.low, high: estimate.high })
        };
        let (alpha, beta) = (over_blocks(|line| line.0)?, over_blocks(|line| line.1)?);
        let bandwidth =
            (beta.low > 0.0).then(|| Bounded { value: 1.0 / beta.value, low: 1.0 / beta.high, high: 1.0 / beta.low });
        let half_size =
            if beta.low > 0.0 && alpha.low > 0.0 { over_blocks(|(alpha, beta)| alpha / beta) } else { None };
        let residual = |index: usize| {
            let line = alpha.value + beta.value * self.sizes[index] as f64;
            (self.sizes[index], self.medians[index] / line - 1.0)
        };
        Some(Segment {
            size_min: self.sizes[range.start],
            size_max: self.sizes[range.end - 1],
            alpha_s: alpha,
            beta_s_per_byte: beta,
            bandwidth_bytes_per_s: bandwidth,
            half_size_bytes: half_size,
            points: range.len() as u32,
            residuals: range.map(residual).filter(|(_, share)| share.is_finite()).collect(),
        })
    }
}

#[cfg(test)]
mod tests;

//! The names of lines at their right ends, moved apart so that none hides another. Used by the charts of lines.

use super::family::Look;
use super::layout::Layout;
use super::marks;
use super::names::{abbreviated, widest};
use super::svg::{Anchor, SvgWriter, drawn, moved};
use headwater_results::sorting::Arrange;

/// The distance between two names.
pub(crate) const GAP: f64 = 15.0;

/// The end of a line.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The place of the series in the figure.
    pub place: usize,
    /// Where the line ends.
    pub at: (f64, f64),
    pub look: Look,
    pub name: String,
}

/// The distance between the plot and what is right of it.
pub(crate) const LEFT: f64 = 10.0;

/// The width right of the plot that names have at least and at most, so that the plots of a page are as wide as each other
/// where names allow.
fn limits(layout: Layout) -> (f64, f64) {
    layout.choose((212.0, 260.0), (124.0, 194.0))
}

/// Whether lines differ in their dash, so that they are told apart by it beside their names too.
fn is_dashed<'a>(looks: impl IntoIterator<Item = &'a Look>) -> bool {
    looks.into_iter().any(|look| look.dash > 0)
}

/// The distance between the left end of a line's mark and its name.
fn name_at(is_dashed: bool) -> f64 {
    if is_dashed { marks::SAMPLE + 5.0 } else { 14.0 }
}

/// Returns the width right of the plot that the names of these lines need.
pub(crate) fn width<'a>(lines: impl Iterator<Item = (&'a Look, &'a str)>, layout: Layout) -> f64 {
    let (looks, names): (Vec<&Look>, Vec<&str>) = lines.unzip();
    let before = LEFT + name_at(is_dashed(looks));
    let (least, most) = limits(layout);
    // One pixel more: positions are rounded.
    before + 1.0 + widest(names, (least - before, most - before))
}

/// Writes the names in a group of this class, between `left` and `right`, between `top` and `bottom`.
pub(crate) fn write(pen: &mut SvgWriter, class: &str, ends: &[End], (left, right): (f64, f64), span: (f64, f64)) {
    let is_dashed = is_dashed(ends.iter().map(|end| &end.look));
    let mut ends: Vec<&End> = ends.iter().collect();
    ends.arrange_by(|one, other| one.at.1.total_cmp(&other.at.1));
    let wanted: Vec<f64> = ends.iter().map(|end| end.at.1).collect();
    let name_left = left + name_at(is_dashed);
    let middle = if is_dashed { marks::SAMPLE / 2.0 } else { 6.0 };
    pen.open(class, "");
    for (end, y) in ends.into_iter().zip(apart(&wanted, span)) {
        pen.open(&marks::class(end.look), &format!(r#"data-s="{}""#, end.place));
        pen.path("leader", &format!("{}{}", moved((end.at.0 + 4.0, end.at.1)), drawn((left, y))), "");
        if is_dashed {
            pen.path("line", &format!("{}h{}", moved((left, y)), marks::SAMPLE), &marks::stroke(end.look));
        }
        pen.path(marks::point_class(end.look.shape), &marks::marker(end.look.shape, (left + middle, y)), "");
        pen.text("label end", (name_left, y + 4.0), Anchor::Start, &abbreviated(&end.name, right - name_left));
        pen.close();
    }
    pen.close();
}

/// Moves ascending positions apart to [`GAP`], each as little as possible, within `span` if they fit.
fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let gap = if wanted.len() > 1 { GAP.min((bottom - top) / (wanted.len() - 1) as f64) } else { GAP };
    // Neighbours that would touch form a block about the mean of what they want (pool adjacent violators).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let first = |(mean, count): (f64, usize)| mean - gap * (count - 1) as f64 / 2.0;
    let last = |(mean, count): (f64, usize)| mean + gap * (count - 1) as f64 / 2.0;
    let within = |(mean, count): (f64, usize)| {
        let half = gap * (count - 1) as f64 / 2.0;
        (mean.min(bottom - half).max(top + half), count)
    };
    for &want in wanted {
        let mut block = within((want, 1));
        while let Some(&before) = blocks.last()
            && last(before) + gap > first(block)
        {
            blocks.pop();
            let count = before.1 + block.1;
            // Each position counts with what it wants, less its distance from the block's middle.
            let mean = (before.0 * before.1 as f64 + block.0 * block.1 as f64) / count as f64;
            block = within((mean, count));
        }
        blocks.push(block);
    }
    blocks.iter().flat_map(|block| (0..block.1).map(|place| first(*block) + gap * place as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance_and_their_order() {
        let close = apart(&[100.0, 101.0, 102.0, 300.0], (0.0, 320.0));
        assert!(close.windows(2).all(|pair| pair[1] - pair[0] >= GAP - 1e-9), "{close:?}");
        assert_eq!(close[3], 300.0, "what is alone stays");
        assert!((close[1] - 101.0).abs() < 1.0, "a block is centred");
        let at_the_edge = apart(&[319.0, 320.0], (0.0, 320.0));
        assert_eq!(at_the_edge, [305.0, 320.0]);
        let full = apart(&[10.0; 30], (0.0, 320.0));
        assert!(full[0] >= -1e-9 && full[29] <= 320.0 + 1e-9, "too many share the height: {full:?}");
    }
}

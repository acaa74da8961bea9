//! The marks of a series: colour class, marker and dash, so that charts are readable in black and white too. Which of
//! them a series has is decided by [`super::family`].

use super::family::Look;
use super::svg::{moved, number};

/// The dash patterns of runs and variants, beginning with a solid line.
const DASHES: [&str; 5] = ["", "7 3", "2 2.5", "9 3 2 3", "5 2 1 2 1 2"];

/// Returns the colour class of a series.
pub(crate) fn class(look: Look) -> String {
    format!("series s{}", look.colour)
}

/// Returns the attributes of the line of a series.
pub(crate) fn stroke(look: Look) -> String {
    let dash = DASHES[look.dash % DASHES.len()];
    let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
    format!(r#"stroke="currentColor"{dash}"#)
}

/// Returns the marker with that number as path data, centred at the given position.
pub(crate) fn marker(shape: usize, (x, y): (f64, f64)) -> String {
    let radius = 3.4;
    let shape = SHAPES[shape % SHAPES.len()];
    if shape.is_empty() {
        let (r, d) = (number(radius), number(2.0 * radius));
        return format!("{}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", moved((x - radius, y)));
    }
    let mut data = String::new();
    for (index, (dx, dy)) in shape.iter().enumerate() {
        let (px, py) = (number(x + dx * radius), number(y + dy * radius));
        data += &format!("{}{px} {py}", if index == 0 { "M" } else { "L" });
    }
    data + "z"
}

/// Corners in units of the radius. All shapes have about the same area; an empty list is a circle.
const SHAPES: [&[(f64, f64)]; super::family::SHAPES] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)],
    &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    &[(0.0, 1.25), (1.15, -0.85), (-1.15, -0.85)],
    &[
        (-0.4, -1.2),
        (0.4, -1.2),
        (0.4, -0.4),
        (1.2, -0.4),
        (1.2, 0.4),
        (0.4, 0.4),
        (0.4, 1.2),
        (-0.4, 1.2),
        (-0.4, 0.4),
        (-1.2, 0.4),
        (-1.2, -0.4),
        (-0.4, -0.4),
    ],
    &[(0.0, -1.3), (1.24, -0.4), (0.76, 1.05), (-0.76, 1.05), (-1.24, -0.4)],
];

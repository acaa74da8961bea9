//! The two widths in which every chart is drawn: for a screen and a file, and for a phone. Used by every chart.
//!
//! The page contains both drawings and shows the one that fits, so that no text is scaled and nothing needs the script.

/// The width of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// For a screen, a file and paper.
    Wide,
    /// For a screen of at most 400 pixels.
    Narrow,
}

impl Layout {
    /// Both, the wide one first.
    pub const ALL: [Layout; 2] = [Layout::Wide, Layout::Narrow];

    /// Returns the width in units of the view box, which are pixels.
    pub fn width(self) -> f64 {
        self.choose(800.0, 364.0)
    }

    /// Returns the value for this layout.
    pub fn choose<T>(self, wide: T, narrow: T) -> T {
        match self {
            Layout::Wide => wide,
            Layout::Narrow => narrow,
        }
    }
}

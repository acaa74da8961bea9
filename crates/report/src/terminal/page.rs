//! The data that all sections use: the run, the style, and the flags that are not shown in cells.

use headwater_results::flags::Flag;
use headwater_results::schema::Run;

use super::ShowOptions;
use crate::rows;
use crate::style::Style;

/// A page that is being built.
#[derive(Clone, Debug)]
pub(super) struct Page<'a> {
    /// The run to be shown.
    pub run: &'a Run,
    /// The style.
    pub style: &'a Style,
    /// The options.
    pub options: ShowOptions,
    /// Flags that are shown only in the legend, because they would be in every cell.
    unmarked: Vec<char>,
}

impl<'a> Page<'a> {
    /// Returns a page about `run`.
    pub fn new(run: &'a Run, style: &'a Style, options: ShowOptions) -> Page<'a> {
        let flags = rows::all_measured(run).flat_map(|result| &result.flags);
        let letters = rows::unique(flags.map(|flag| (flag.letter(), matches!(flag, Flag::WideInterval { .. }))));
        let is_unmarked = |&(letter, is_width): &(char, bool)| {
            // The cell already contains the width of the interval as a number.
            is_width || letter_count(run, letter) == rows::all_measured(run).count()
        };
        let unmarked = letters.into_iter().filter(is_unmarked).map(|(letter, _)| letter).collect();
        Page { run, style, options, unmarked }
    }

    /// Returns the letters of a row's flags, except those that are not shown in cells.
    pub fn marks(&self, flags: &[Flag]) -> String {
        rows::unique(flags.iter().map(Flag::letter))
            .into_iter()
            .filter(|letter| !self.unmarked.contains(letter))
            .collect()
    }
}

/// Returns how many rows have a letter.
pub(super) fn letter_count(run: &Run, letter: char) -> usize {
    rows::all_measured(run).filter(|result| result.flags.iter().any(|flag| flag.letter() == letter)).count()
}

#[cfg(test)]
mod tests;

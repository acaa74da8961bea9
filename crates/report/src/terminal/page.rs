//! What every section is drawn from: the run, the style, and which letters need no place in the cells.

use headwater_results::flags::Flag;
use headwater_results::schema::Run;

use super::ShowOptions;
use crate::rows;
use crate::style::Style;

/// A page in the making.
#[derive(Clone, Debug)]
pub(super) struct Page<'a> {
    /// What is shown.
    pub run: &'a Run,
    /// How.
    pub style: &'a Style,
    /// What the reader asked for.
    pub options: ShowOptions,
    /// Letters that are said once, in the legend, because a cell would say nothing by them.
    unmarked: Vec<char>,
}

impl<'a> Page<'a> {
    /// A page about `run`.
    pub fn new(run: &'a Run, style: &'a Style, options: ShowOptions) -> Page<'a> {
        let flags = rows::all_measured(run).flat_map(|result| &result.flags);
        let letters = rows::unique(flags.map(|flag| (flag.letter(), matches!(flag, Flag::WideInterval { .. }))));
        let is_unmarked = |&(letter, is_width): &(char, bool)| {
            // The width of an interval stands in the cell as a number already.
            is_width || letter_count(run, letter) == rows::all_measured(run).count()
        };
        let unmarked = letters.into_iter().filter(is_unmarked).map(|(letter, _)| letter).collect();
        Page { run, style, options, unmarked }
    }

    /// The letters of a row's flags, but for those that need no place in its cell.
    pub fn marks(&self, flags: &[Flag]) -> String {
        rows::unique(flags.iter().map(Flag::letter))
            .into_iter()
            .filter(|letter| !self.unmarked.contains(letter))
            .collect()
    }
}

/// How many rows carry a letter.
pub(super) fn letter_count(run: &Run, letter: char) -> usize {
    rows::all_measured(run).filter(|result| result.flags.iter().any(|flag| flag.letter() == letter)).count()
}

#[cfg(test)]
mod tests;

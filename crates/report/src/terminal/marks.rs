//! The legend of the letters in the tables, with the number of rows of each.

use headwater_results::flags::Flag;
use headwater_results::sorting::Arrange;

use super::Section;
use super::page::{Page, letter_count};
use crate::meaning::meaning;
use crate::rows;
use crate::style::strong;
use crate::text::{plural, wrap};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let flags: Vec<&Flag> = rows::all_measured(run).flat_map(|result| &result.flags).collect();
    let mut kinds = rows::unique(flags.iter().map(|flag| (flag.letter(), meaning(flag))));
    kinds.arrange_by_key(|&(letter, _)| letter);
    if kinds.is_empty() {
        return None;
    }
    let total = rows::all_measured(run).count();
    let lines = kinds.into_iter().map(|(letter, meaning)| {
        let count = letter_count(run, letter);
        let rows = if count == total && total > 1 {
            format!("all {total} rows, not marked")
        } else {
            format!("{count} of {}", plural(total, "row"))
        };
        // The cell contains this flag's width as a number.
        let width = if letter == 'w' { ", not marked because its width stands in the cell" } else { "" };
        wrap(&format!("{} {meaning}{width} ({rows})", strong(&letter.to_string())), style.columns(), 2)
    });
    Some(format!("{}\n{}", strong("Flags, by the letter behind a figure"), lines.collect::<Vec<_>>().join("\n")))
}

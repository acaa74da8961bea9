//! The verdict, below the tables.

use super::Section;
use super::page::Page;
use crate::style::strong;
use crate::text::wrap;
use crate::verdict::verdict;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let sentences = verdict(run).into_iter().map(|sentence| wrap(&format!("- {sentence}"), style.columns(), 2));
    let sentences: Vec<String> = sentences.collect();
    (!sentences.is_empty()).then(|| format!("{}\n{}", strong("Answer"), sentences.join("\n")))
}

//! The verdict on the page.

use headwater_results::schema::Run;

use super::Section;
use crate::style::{Style, strong};
use crate::text::wrap;
use crate::verdict::verdict;

/// In the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(run: &Run, style: &Style) -> Option<String> {
    let sentences = verdict(run).into_iter().map(|sentence| wrap(&format!("- {sentence}"), style.columns(), 2));
    Some(format!("{}\n{}", strong("Verdict"), sentences.collect::<Vec<_>>().join("\n")))
}

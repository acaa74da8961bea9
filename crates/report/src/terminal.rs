//! The page that a user sees after `headwater run` and for `headwater show`: a table of sections, one file each.
//!
//! A new section is a file with a `SECTION` and its line below. Rows of patterns that no section claims are shown by
//! [`others`], so that a new facility is readable before it has a section of its own.

use headwater_results::schema::Run;

use crate::style::{Style, finish, strong};

mod absent;
mod cells;
mod cost;
mod flood;
mod frame;
mod header;
mod help;
mod marks;
mod matrix;
mod others;
mod page;
mod policies;
mod rates;
mod rtt;
mod sync;
mod wake;
mod words;

use page::Page;

/// A part of the page.
struct Section {
    /// The patterns whose rows it shows.
    patterns: &'static [&'static str],
    /// Its text without a line end; `None` if it has nothing to show.
    draw: fn(&Page<'_>) -> Option<String>,
}

/// The page, from top to bottom.
static TABLE: &[Section] = &[
    header::SECTION,
    words::SECTION,
    rates::STREAM,
    rates::STREAM_FULL,
    rates::SINGLE,
    flood::SECTION,
    rtt::SECTION,
    wake::SECTION,
    matrix::SECTION,
    sync::SECTION,
    others::SECTION,
    cost::SECTION,
    policies::SECTION,
    marks::SECTION,
    absent::SECTION,
    help::SECTION,
];

/// The whole page, with a line end at its end. No line is longer than the style's width (at least
/// [`Style::WIDTH_MIN`]).
///
/// A run with several variants is a page for each: their rows have the same subjects, and stand beside each other in a comparison.
pub fn terminal(run: &Run, style: &Style) -> String {
    let variants = run.variants();
    if variants.len() < 2 {
        return page(run, style);
    }
    let pages = variants.iter().map(|(variant, part)| {
        let title = finish(&strong(&format!("Variant {variant}")), style);
        format!("{title}\n{}", page(part, style))
    });
    pages.collect::<Vec<_>>().join("\n")
}

fn page(run: &Run, style: &Style) -> String {
    let page = Page::new(run, style);
    let sections: Vec<String> = TABLE.iter().filter_map(|section| (section.draw)(&page)).collect();
    finish(&(sections.join("\n\n") + "\n"), style)
}

#[cfg(test)]
mod tests;

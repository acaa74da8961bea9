//! The page that a user sees after `headwater run` and for `headwater show`: a table of sections, one file each.
//!
//! A new section is a file with a `SECTION` and a line in the table below. Rows of patterns without a section are shown
//! by [`others`].

use std::borrow::Cow;

use headwater_results::overhead::is_overhead;
use headwater_results::schema::Run;

use crate::operations as operation_tables;
use crate::rows;
use crate::style::{Style, finish, strong};

mod absent;
pub(crate) mod cells;
mod cost;
mod flood;
mod frame;
mod header;
mod help;
mod marks;
mod matrix;
mod operations;
mod others;
mod overhead;
mod page;
mod policies;
mod rates;
mod rtt;
mod sync;
mod trace;
mod uses;
mod wake;
mod words;

use page::Page;

/// A section of the page.
struct Section {
    /// The patterns whose rows it shows.
    patterns: &'static [&'static str],
    /// Returns its text without a final newline; `None` if there is nothing to show.
    draw: fn(&Page<'_>) -> Option<String>,
}

/// The sections, from top to bottom. The verdict is last, because a reader of long tables sees the last screen.
static TABLE: &[Section] = &[
    header::SECTION,
    rates::STREAM,
    rates::STREAM_FULL,
    rates::SINGLE,
    flood::SECTION,
    rtt::SECTION,
    wake::SECTION,
    matrix::SECTION,
    sync::SECTION,
    uses::SECTION,
    operations::SECTION,
    trace::SECTION,
    overhead::SECTION,
    others::SECTION,
    cost::SECTION,
    policies::SECTION,
    marks::SECTION,
    absent::SECTION,
    help::SECTION,
    words::SECTION,
];

/// The options of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShowOptions {
    /// Show the figures of basic operations by LMbench's rule, if the run has them.
    pub lmbench_value: bool,
}

/// Returns the page, terminated by a newline. No line is longer than the style's width (at least [`Style::WIDTH_MIN`]).
///
/// A run with several variants has a page for each, because their rows have the same subjects. A comparison shows them
/// side by side.
pub fn terminal(run: &Run, style: &Style) -> String {
    terminals(&[(run.header.run_id.clone(), run)], ShowOptions::default(), style)
}

/// Returns the pages of several runs, each with its name, as [`terminal`]. If several runs or variants have basic
/// operations, these are in tables of their own at the end, with a column each.
pub fn terminals(runs: &[(String, &Run)], options: ShowOptions, style: &Style) -> String {
    let parts: Vec<Part<'_>> = runs.iter().flat_map(|(name, run)| parts(name, run, runs.len() > 1)).collect();
    let named: Vec<(&str, &Run)> = parts.iter().map(|part| (part.name.as_str(), &*part.run)).collect();
    let is_beside = named.iter().filter(|(_, run)| operation_tables::has_any(run)).count() > 1;
    let page = |part: &Part<'_>| {
        let page = Page::new(&part.run, style, options);
        let sections = sections(&page, is_beside).join("\n\n");
        part.title.iter().cloned().chain([sections]).collect::<Vec<_>>().join("\n")
    };
    let mut texts: Vec<String> = parts.iter().map(page).collect();
    texts.extend(is_beside.then(|| operations::beside(&named, options, style)).flatten());
    let texts = texts.iter().map(|text| finish(&format!("{text}\n"), style));
    texts.collect::<Vec<_>>().join("\n")
}

/// A run or variant with a page of its own.
struct Part<'a> {
    name: String,
    /// The title of a variant's page.
    title: Option<String>,
    run: Cow<'a, Run>,
}

/// Returns the variants of a run as separate runs, or the run itself if it has none.
fn parts<'a>(name: &str, run: &'a Run, has_others: bool) -> Vec<Part<'a>> {
    let variants = run.variants();
    // The cost of configurations is shown only side by side.
    if variants.len() < 2 || is_overhead(run) {
        return vec![Part { name: name.to_owned(), title: None, run: Cow::Borrowed(run) }];
    }
    let of_variant = |(variant, run): (String, Run)| Part {
        title: Some(strong(&format!("Variant {variant}"))),
        name: if has_others { format!("{name}, {variant}") } else { variant },
        run: Cow::Owned(run),
    };
    variants.into_iter().map(of_variant).collect()
}

/// Returns the sections of a page. `is_beside` leaves out operations that are shown in tables of several runs, and
/// explanations that would refer only to those.
fn sections(page: &Page<'_>, is_beside: bool) -> Vec<String> {
    let drawn = |sections: &[Section]| sections.iter().filter_map(|section| (section.draw)(page)).collect();
    if is_overhead(page.run) {
        return drawn(&[header::SECTION, overhead::SECTION]);
    }
    if !is_beside || !operation_tables::has_any(page.run) {
        return drawn(TABLE);
    }
    if rows::all_measured(page.run).all(operation_tables::has_line) {
        return drawn(&[header::SECTION, absent::SECTION]);
    }
    let is_elsewhere = |section: &&Section| section.patterns == operations::SECTION.patterns;
    TABLE.iter().filter(|section| !is_elsewhere(section)).filter_map(|section| (section.draw)(page)).collect()
}

#[cfg(test)]
mod tests;

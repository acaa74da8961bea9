//! The page that a user sees after `headwater run` and for `headwater show`: a table of sections, one file each.
//!
//! A new section is a file with a `SECTION` and its line below. Rows of patterns that no section claims are shown by
//! [`others`], so that a new facility is readable before it has a section of its own.

use std::borrow::Cow;

use headwater_results::overhead::is_overhead;
use headwater_results::schema::Run;

use crate::operations as operation_tables;
use crate::rows;
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
];

/// What a reader asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShowOptions {
    /// The figures of basic operations by the rule of LMbench, where a run has them.
    pub lmbench_value: bool,
}

/// The whole page, with a line end at its end. No line is longer than the style's width (at least
/// [`Style::WIDTH_MIN`]).
///
/// A run with several variants is a page for each: their rows have the same subjects, and stand beside each other in a comparison.
pub fn terminal(run: &Run, style: &Style) -> String {
    terminals(&[(run.header.run_id.clone(), run)], ShowOptions::default(), style)
}

/// As [`terminal`], the pages of several runs, each with its name. Basic operations stand in tables of their own at the end,
/// a column per run or variant, if more than one has them.
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

/// What gets a page of its own.
struct Part<'a> {
    name: String,
    /// Above the page of a variant.
    title: Option<String>,
    run: Cow<'a, Run>,
}

/// The variants of a run as runs of their own; the run itself where it has none.
fn parts<'a>(name: &str, run: &'a Run, has_others: bool) -> Vec<Part<'a>> {
    let variants = run.variants();
    // What configurations cost shows only side by side.
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

/// The sections of a page, but for operations where they stand beside those of other runs; of a run that has nothing else the
/// rest would explain figures that are elsewhere.
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

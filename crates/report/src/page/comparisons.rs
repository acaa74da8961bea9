//! The page of comparisons alone, as over a fleet whose runs do not fit one page: in words, as forest plots, as tables of rows and
//! of hosts, what the environments differ in, and the method. It has the frame, the style and the script of the page of runs.

use super::allowance::Allowance;
use super::{PAGE_BYTES_MAX, SCRIPT, STYLE, Section, Visible, comparison, live};
use crate::chart;
use crate::comparison::{Compared, rules};
use crate::markup::{escape, prose, shorten};

const SUMMARY: Section = section("summary", "Summary");
const COMPARISON: Section = section("comparison", "Comparison");
const ENVIRONMENT: Section = section("environment", "Environment");
const LEFT_OUT: Section = section("left-out", "Left out");
const METHOD: Section = section("method", "Method");

/// These sections are drawn here, and not from a page of runs.
const fn section(id: &'static str, title: &'static str) -> Section {
    Section { id, title, draw: |_, _| None }
}

/// The most differing facts, and runs that are left out, that are listed.
const LINES_MAX: usize = 200;

/// Returns the page. `left_out` has a sentence for each run that takes no part. Its size is at most [`PAGE_BYTES_MAX`].
pub fn comparison_page(compared: &[Compared<'_>], left_out: &[String], title: Option<&str>) -> String {
    let mut allowance = Allowance::new(PAGE_BYTES_MAX - STYLE.len() - SCRIPT.len(), 0);
    let comparisons: Vec<_> = compared.iter().map(|one| one.comparison.clone()).collect();
    let forest = chart::find("forest").map(|chart| chart::figures(chart, &[], &comparisons, None)).unwrap_or_default();
    let items = |sentences: &mut dyn Iterator<Item = String>| -> String {
        sentences.take(LINES_MAX).map(|words| format!("<li>{}</li>\n", prose(&shorten(&words, 4000)))).collect()
    };
    let (results, cautions) = comparison::sentences(&comparisons);
    let words = items(&mut results.into_iter().chain(cautions));
    let mut sections = vec![(&SUMMARY, format!("<ul class=\"verdict\">\n{words}</ul>\n"))];
    sections.push((&COMPARISON, comparison::drawn(&comparisons, forest.iter().collect(), &mut allowance)));
    let mut facts = compared
        .iter()
        .flat_map(|one| one.environment)
        .map(|one| format!("{}: {} -> {}", one.what, one.before, one.after));
    let facts = items(&mut facts);
    if !facts.is_empty() {
        sections.push((&ENVIRONMENT, format!("<ul>\n{facts}</ul>\n")));
    }
    let left = items(&mut left_out.iter().cloned());
    if !left.is_empty() {
        sections.push((&LEFT_OUT, format!("<ul>\n{left}</ul>\n")));
    }
    sections
        .push((&METHOD, compared.first().map_or_else(String::new, |one| format!("<p>{}</p>\n", prose(&rules(one))))));
    let of = |one: &Compared<'_>| format!("{} against {}", one.comparison.candidate, one.comparison.baseline);
    let title = title.map_or_else(|| compared.iter().take(3).map(of).collect::<Vec<_>>().join(", "), str::to_owned);
    let header = format!(
        "<header id=\"top\">\n<h1>{}</h1>\n<div id=\"controls\" hidden></div>\n</header>\n",
        escape(&shorten(&title, 240))
    );
    let visible = Visible::new(&title, &header, &sections);
    let live = live::element(forest.iter().collect(), allowance.left_of(visible.bytes()));
    visible.with_data("", &live)
}

#[cfg(test)]
mod tests;

use headwater_results::schema::RunStatus;

use super::sentence;
use crate::page::{PageOptions, page};
use crate::testing::{HOSTILE, comparison, overview};

#[test]
fn the_sentence_counts_verdicts_and_names_the_worst_rows() {
    let words = sentence(&comparison());
    assert!(words.starts_with("new against old: 1 row worse ("), "{words}");
    assert!(words.contains(" -10 %)") && words.contains("1 row better (pipe/stream/64/two-cpus +8.0 %)"), "{words}");
    assert!(words.ends_with("1 row equivalent and 1 row inconclusive."), "{words}");
}

#[test]
fn a_page_shows_the_comparison_in_words_in_a_plot_and_in_a_table() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let runs = [("old".to_owned(), &run), ("new".to_owned(), &run)];
    let html = page(&runs, &[comparison()], &PageOptions::default());
    let start = html.find("<section id=\"comparison\"").expect("the section");
    let section = &html[start..start + html[start..].find("</section>").expect("its end")];
    assert!(section.contains("data-view=\"forest\"") && section.contains("needs about 7 more blocks"), "{section}");
    assert!(section.contains("<td class=\"worse\">worse</td>"), "{section}");
    assert!(!html.contains(HOSTILE), "a name became markup");
    let result = html.find("new against old: 1 row worse").expect("the summary");
    let chart = html[result..].find("<figure").expect("the chart beside it");
    let more = html[result..].find("About 7 more blocks").expect("what would decide more");
    assert!(chart < more && result + more < start, "the result precedes the chart, the rest follows it");
}

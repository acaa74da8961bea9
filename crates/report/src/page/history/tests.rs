use headwater_results::compare::Rules;
use headwater_results::history::{By, Left, histories};

use super::history_page;
use crate::history::HistoryReport;
use crate::page::{PAGE_BYTES_MAX, is_page};
use crate::testing::{history_entries, hostile_history_entries};

fn page(entries: Vec<headwater_results::history::Entry>) -> String {
    let found = histories(entries, &By::Date, Rules::default());
    let left = [Left { run: "torn".to_owned(), row: String::new(), reason: "line 3 is `cut`".to_owned() }];
    let report = HistoryReport {
        histories: &found,
        by: &By::Date,
        rules: Rules::default(),
        left_out: &left,
        runs: 60,
        all: false,
    };
    history_page(&report, None)
}

#[test]
fn it_says_without_its_script_what_changed_and_what_is_left_out() {
    let page = page(history_entries());
    assert!(is_page(&page) && page.len() < PAGE_BYTES_MAX);
    for id in ["summary", "history", "changes", "left-out", "method"] {
        assert!(page.contains(&format!("<section id=\"{id}\"")) && page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    assert!(page.contains("<strong>kernel release 6.9.1 -&gt; 6.12.0</strong>"), "the cause that holds is marked");
    assert!(page.contains("line 3 is <code>cut</code>"), "backticks are code");
    assert!(page.contains("svg class=\"plot narrow\""), "a drawing for 400 pixels");
}

#[test]
fn names_of_another_program_stay_text() {
    let page = page(hostile_history_entries());
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "a name became an element");
}

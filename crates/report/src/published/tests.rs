use headwater_results::published::{self, claims};

use super::{published_claims, published_list, published_markdown};
use crate::style::Style;

const PLAIN: Style = Style { colour: false, width: 80, unicode: true };

#[test]
fn the_list_has_every_name_and_keeps_to_its_width() {
    let text = published_list(&PLAIN);
    for table in published::tables() {
        for dataset in table.datasets() {
            assert!(text.contains(&format!("published:{}/{}  ", table.name, dataset.name)), "{}", dataset.name);
        }
    }
    assert_lines_fit(&text);
}

#[test]
fn the_claims_name_contradicting_cases() {
    let text = published_claims(&PLAIN);
    let contradiction = "cos5: slower than the kernel's at 11 of 13 sizes, 1 to 1024 B.";
    assert!(text.contains(contradiction), "{text}");
    assert!(text.contains("Holds in part: in 9 of 10 cases."));
    assert!(text.contains("No claim of the report"));
    assert_lines_fit(&text);
}

fn assert_lines_fit(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= PLAIN.width, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn the_document_has_every_claim_with_all_its_cases() {
    let text = published_markdown();
    for claim in claims::TABLE {
        let section =
            text.split("\n### ").find(|section| section.starts_with(&format!("{}: {}\n", claim.table, claim.says)));
        let section = section.unwrap_or_else(|| panic!("no section for {}", claim.says));
        let lines = section.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(lines, claim.cases().len() + 1, "{section}");
    }
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let tables: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(tables.iter().all(|line| [3, 4, 7].contains(&columns(line))), "every line of a table has its columns");
}

#[test]
fn the_page_of_a_published_run_names_its_report_and_no_unknown_facts() {
    for table in published::tables() {
        for dataset in table.datasets() {
            let text = crate::terminal(&dataset.run, &PLAIN);
            let head = text.lines().take(3).collect::<Vec<_>>().join(" ");
            assert!(head.starts_with(&dataset.run.header.run_id), "{head}");
            assert!(["unknown", "launch", "seed"].iter().all(|word| !head.contains(word)), "{head}");
            assert!(text.contains("stands in the report as it is"), "{text}");
        }
    }
}

//! Generates docs/published.md.

use std::fmt::Write;

use headwater_results::published::claims::{self, Claim};
use headwater_results::published::{self, PREFIX, Table};

use super::words;

const TOP: &str = "<!-- Made of crates/results/src/published by `cargo xtask docs`; do not edit. -->
# Published figures, and what their reports claim

Headwater carries the figures of five reports, so that old and new stand on the same charts:
`headwater report published:pipes/fc6` redraws a report's figures, `headwater compare` and `headwater report` take such a
name beside a run of today, and `headwater list published --claims` prints what is checked below.

A published figure has no interval: it is one number of a table. Where a report's definition is that of a row of today the
row has today's name; where it is not, a pattern of its own keeps the two apart. Nothing is estimated or invented: what a
report does not say of its machine is absent.
";

/// Returns the whole document. It depends only on the compiled-in tables.
pub fn published_markdown() -> String {
    let mut text = TOP.to_owned();
    text.push_str("\n## Tables\n\n");
    for table in published::tables() {
        add_table(&mut text, table);
    }
    text.push_str("## Claims\n\n");
    text.push_str(&words::summary());
    text.push_str("\n\n| claim | table | verdict |\n|---|---|---|\n");
    for claim in claims::TABLE {
        let verdict = words::verdict(claim, &claim.cases());
        push(&mut text, format_args!("| {} | {} | {} |\n", cell(claim.says), claim.table, cell(&verdict)));
    }
    for claim in claims::TABLE {
        add_claim(&mut text, claim);
    }
    text
}

fn add_table(text: &mut String, table: &Table) {
    push(text, format_args!("### {}: {}\n\n{}.\n\n{}\n\n", table.name, table.title, table.citation, table.what));
    text.push_str("| name | measured on |\n|---|---|\n");
    for dataset in table.datasets() {
        push(text, format_args!("| `{PREFIX}{}/{}` | {} |\n", table.name, dataset.name, cell(&dataset.about)));
    }
    text.push('\n');
}

fn add_claim(text: &mut String, claim: &Claim) {
    let cases = claim.cases();
    push(text, format_args!("\n### {}: {}\n\n", claim.table, claim.says));
    push(text, format_args!("{} {}\n\n", words::wording(claim.wording), claim.how));
    push(text, format_args!("**{}**\n\n", words::verdict(claim, &cases)));
    let heads = words::HEADS.join(" | ");
    push(text, format_args!("| {} | {heads} | remark |\n|---|--:|--:|--:|---|---|\n", words::corner(claim)));
    for case in &cases {
        let figures = words::figures(case, claim.unit).join(" | ");
        let mark = words::yes_or_no(case.holds);
        push(text, format_args!("| {} | {figures} | {mark} | {} |\n", cell(&case.of), cell(&case.remark)));
    }
}

/// Escapes a text, so that it does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to memory does not fail");
}

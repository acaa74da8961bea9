//! The published tables and the claims of their reports: a list, a check of the claims, and both as the page
//! docs/published.md. Called by `list published` and by the generator of the documentation.

mod document;
mod words;

use headwater_results::published::claims::{self, Claim};
use headwater_results::published::{self, Dataset, PREFIX, Table};

use crate::grid::{Cell, Grid, Line};
use crate::style::{Style, finish, quiet, strong, width_of};
use crate::text::wrap;

pub use document::published_markdown;

/// Returns the tables with their datasets, whose names can be typed as printed.
pub fn published_list(style: &Style) -> String {
    let hint = "A name stands wherever a run may: `headwater report published:pipes/fc6`; without a dataset it is all of the \
                table. `headwater list published --claims` holds the reports' claims against their own figures.";
    let mut sections: Vec<String> = published::tables().iter().map(|table| list_one(table, style)).collect();
    sections.push(quiet(&wrap(hint, style.columns(), 0)));
    finish(&(sections.join("\n\n") + "\n"), style)
}

fn list_one(table: &Table, style: &Style) -> String {
    let datasets = table.datasets();
    let name = |dataset: &Dataset| format!("{PREFIX}{}/{}", table.name, dataset.name);
    let widest = datasets.iter().map(|dataset| width_of(&name(dataset))).max().unwrap_or(0);
    let about = [table.citation.to_owned() + ".", table.what.to_owned()].join(" ");
    let mut lines =
        vec![hanging(&format!("{}: ", strong(table.name)), table.title, style), quiet(&hanging("  ", &about, style))];
    lines.extend(
        datasets.iter().map(|dataset| hanging(&format!("  {:widest$}  ", name(dataset)), &dataset.about, style)),
    );
    lines.join("\n")
}

/// Returns every claim with its cases and its verdict.
pub fn published_claims(style: &Style) -> String {
    let mut sections = vec![hanging("", &words::summary(), style)];
    for table in published::tables() {
        let claims: Vec<&Claim> = claims::TABLE.iter().filter(|claim| claim.table == table.name).collect();
        if !claims.is_empty() {
            sections.push(hanging(&format!("{}: ", strong(table.name)), table.citation, style));
            sections.extend(claims.into_iter().map(|claim| claim_text(claim, style)));
        }
    }
    finish(&(sections.join("\n\n") + "\n"), style)
}

fn claim_text(claim: &Claim, style: &Style) -> String {
    let cases = claim.cases();
    let lines = cases.iter().map(|case| Line {
        label: case.of.clone(),
        is_quiet: false,
        cells: words::figures(case, claim.unit)
            .into_iter()
            .chain([words::yes_or_no(case.holds).to_owned()])
            .map(Cell::plain)
            .collect(),
    });
    let heads = words::HEADS.iter().map(|head| (*head).to_owned()).collect();
    let table = Grid { corner: words::corner(claim).to_owned(), heads, lines: lines.collect() }.draw(style);
    let remarks = cases.iter().filter(|case| !case.remark.is_empty());
    let remarks = remarks.map(|case| hanging("  ", &format!("{}: {}.", case.of, case.remark), style));
    let head = [
        hanging("- ", claim.says, style),
        hanging("  ", &format!("{} {}", words::wording(claim.wording), claim.how), style),
        hanging("  ", &strong(&words::verdict(claim, &cases)), style),
    ];
    head.into_iter().chain([table]).chain(remarks).collect::<Vec<_>>().join("\n")
}

/// Formats `text` after `lead`, with further lines indented below its first.
fn hanging(lead: &str, text: &str, style: &Style) -> String {
    let indent = width_of(lead);
    let wrapped = wrap(text, style.columns().saturating_sub(indent).max(1), 0);
    lead.to_owned() + &wrapped.replace('\n', &format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests;

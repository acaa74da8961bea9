//! `headwater list published`: the tables of reports that stand wherever a run may, and their claims.

use std::io::Write;

use anyhow::bail;
use headwater_results::published::claims::{self, Claim, Verdict, Wording};
use headwater_results::published::{self, PREFIX, Table};
use serde_json::{Value, json};

use super::output::{out, raw};
use super::{ListArguments, show, status};

/// What stands in the place of a suite.
pub(super) const WORD: &str = "published";

/// Whether the list is of published tables: the word, or `--claims` alone.
pub(super) fn is_asked(arguments: &ListArguments) -> bool {
    arguments.claims || arguments.selection.iter().any(|word| word == WORD)
}

pub(super) fn list(arguments: &ListArguments) -> anyhow::Result<u8> {
    if let Some(other) = arguments.selection.iter().find(|word| *word != WORD) {
        bail!("{other:?} beside published tables: `headwater list {WORD}` lists all of them, and nothing else");
    }
    match (arguments.json, arguments.claims) {
        (true, false) => lines(&mut out(), published::tables().iter().map(table))?,
        (true, true) => lines(&mut out(), claims::TABLE.iter().map(claim))?,
        (false, false) => raw().write_all(headwater_report::published_list(&show::style()).as_bytes())?,
        (false, true) => raw().write_all(headwater_report::published_claims(&show::style()).as_bytes())?,
    }
    Ok(status::OK)
}

fn lines(out: &mut impl Write, values: impl Iterator<Item = Value>) -> std::io::Result<()> {
    values.into_iter().try_for_each(|value| writeln!(out, "{value}"))
}

fn table(table: &Table) -> Value {
    let datasets = table.datasets().into_iter().map(|dataset| {
        json!({
            "name": format!("{PREFIX}{}/{}", table.name, dataset.name),
            "about": dataset.about,
            "rows": dataset.run.results.len(),
        })
    });
    json!({
        "name": table.name,
        "title": table.title,
        "citation": table.citation,
        "what": table.what,
        "datasets": datasets.collect::<Vec<_>>(),
    })
}

fn claim(claim: &Claim) -> Value {
    let cases = claim.cases();
    let verdict = match claim.verdict(&cases) {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "holds in part",
        Verdict::DoesNotHold => "does not hold",
    };
    let (wording, from) = match claim.wording {
        Wording::Quoted { from } => ("quoted", Some(from)),
        Wording::InSense => ("in sense", None),
        Wording::Asked => ("asked", None),
    };
    let mut value = json!({
        "table": claim.table,
        "says": claim.says,
        "wording": wording,
        "how": claim.how,
        "verdict": verdict,
        "cases": cases
            .iter()
            .map(|case| {
                json!({
                    "of": case.of,
                    "low": case.low,
                    "mean": case.mean,
                    "high": case.high,
                    "holds": case.holds,
                    "remark": case.remark,
                })
            })
            .collect::<Vec<_>>(),
    });
    if let Some(from) = from {
        value["from"] = json!(from);
    }
    value
}

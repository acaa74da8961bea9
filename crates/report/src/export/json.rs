//! The complete document run.json; several runs follow one another as in `show --json`.

use headwater_results::foreign::printable;

use super::{Format, NamedRun, Options};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "json",
    summary: "the document run.json, everything that is known; several runs follow one another",
    has_launches: false,
    write,
};

fn write(runs: &[NamedRun], _: &Options) -> String {
    let documents = runs.iter().map(|(_, run)| serde_json::to_string_pretty(run).expect("a run is plain data") + "\n");
    documents.map(|document| printable(&document).into_owned()).collect()
}

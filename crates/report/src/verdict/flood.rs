//! What a STREAMS or XTI runtime gives beyond a datagram socket when the sender does not wait: messages received per second, with one
//! call per message at either side. Sockets that take several datagrams per call are other mechanisms: they are in the table only.

use headwater_results::schema::{Placement, RowResult, Run};

use super::beyond::{Step, ranges, words};
use super::of_size;
use crate::rows::{self, Provider};

/// The transport with which the others are compared.
const REFERENCE: &str = "udp";

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = rows::measured(run, "flood");
    rows::placements(run, &rows).into_iter().filter_map(|placement| sentence(&rows, placement)).collect()
}

/// Returns a part per transport of the runtime.
fn sentence(rows: &[&RowResult], placement: Placement) -> Option<String> {
    let rows = rows::at(rows, placement);
    let of_runtime = rows.iter().copied().filter(|row| rows::provider(row) == Provider::Runtime);
    let subjects = rows::unique(of_runtime.map(|row| row.row.subject.as_str()));
    let parts: Vec<String> = subjects
        .into_iter()
        .map(|subject| ranges(&steps(&rows, subject)))
        .filter(|ranges| !ranges.is_empty())
        .map(|ranges| words(&ranges))
        .collect();
    let place = rows::placement_words(placement);
    (!parts.is_empty()).then(|| format!("Messages whose sender never waits arrive ({place}) {}.", parts.join("; ")))
}

fn steps<'a>(rows: &[&'a RowResult], subject: &str) -> Vec<Step<'a>> {
    let step = |size| {
        let like = of_size(rows, size);
        let of = |name: &str| like.iter().copied().find(|row| row.row.subject == name);
        Step::between(of(subject)?, of(REFERENCE)?, size)
    };
    rows::sizes(rows).into_iter().filter_map(step).collect()
}

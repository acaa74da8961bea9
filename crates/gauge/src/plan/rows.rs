//! Makes rows from the tables. Only this file makes row ids.

use headwater_results::schema::{Metric, Placement, Row, Standing, WorkerKind, transport_definition};

use crate::harness::protocol::Description;
use crate::{facilities, patterns, transports};

/// Returns the row of a transport and a pattern, with messages of `size` bytes; `messages` is their number if the
/// pattern has a fixed number.
pub fn of_transport(
    transport: &transports::Info,
    pattern: &patterns::Info,
    size: u64,
    messages: Option<u64>,
    placement: Placement,
) -> Row {
    let policy = transport.policy.map(str::to_owned);
    let definition_version = transport_definition(pattern.definition_version, transport.name);
    let row = messaging(transport.name, transport.standing, pattern, size, messages, placement);
    Row { policy, definition_version, ..row }
}

/// Returns `row` with another name of its subject: that of the transport with options.
pub fn of_subject_name(row: Row, subject: &str) -> Row {
    let id = row.id.replacen(&row.subject, subject, 1);
    Row { id, subject: subject.to_owned(), ..row }
}

/// Returns the row of an external program and a pattern.
pub fn of_external(description: &Description, pattern: &patterns::Info, size: u64, placement: Placement) -> Row {
    messaging(&description.name, Standing::External, pattern, size, None, placement)
}

fn messaging(
    subject: &str,
    standing: Standing,
    pattern: &patterns::Info,
    size: u64,
    messages: Option<u64>,
    placement: Placement,
) -> Row {
    let parameters = match messages {
        Some(count) => format!("{size}x{count}"),
        None => size.to_string(),
    };
    let of = Pattern { name: pattern.name, definition_version: pattern.definition_version };
    Row {
        id: format!("{subject}/{}/{parameters}/{}", pattern.name, placement.name()),
        size_bytes: Some(size),
        messages,
        ..plain(subject, standing, of, placement, metrics(pattern.metrics))
    }
}

/// Returns the row of a facility's subject with `workers` workers of one kind.
pub fn of_workers(
    subject: &facilities::Subject,
    facility: &facilities::Info,
    workers: u32,
    kind: WorkerKind,
    placement: Placement,
) -> Row {
    Row {
        id: format!("{}/{}/{}-{workers}/{}", subject.name, facility.name, kind.name(), placement.name()),
        workers: Some(workers),
        worker_kind: Some(kind),
        ..of_subject(subject, facility, placement)
    }
}

/// Returns the row of a facility's subject without parameters.
pub fn of_subject(subject: &facilities::Subject, facility: &facilities::Info, placement: Placement) -> Row {
    let of = Pattern { name: facility.name, definition_version: (facility.definition_version)(subject.name) };
    plain(subject.name, subject.standing, of, placement, metrics(subject.metrics))
}

/// The pattern or facility by which a row is measured.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its name.
    pub name: &'static str,
    /// The version of the definition: it is raised when the timed code changes; for the code of one transport,
    /// by [`transport_definition`].
    pub definition_version: u32,
}

/// Returns a row without parameters.
pub fn plain(subject: &str, standing: Standing, of: Pattern, placement: Placement, metrics: Vec<Metric>) -> Row {
    Row {
        id: format!("{subject}/{}/{}", of.name, placement.name()),
        subject: subject.into(),
        pattern: of.name.into(),
        definition_version: of.definition_version,
        standing,
        placement,
        size_bytes: None,
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics,
    }
}

fn metrics(infos: &[patterns::MetricInfo]) -> Vec<Metric> {
    infos.iter().map(patterns::MetricInfo::metric).collect()
}

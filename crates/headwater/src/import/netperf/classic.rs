//! The classic text of netperf's tests: a table of numbers whose head contains the units. Called by the reader.

use super::rows::{Figures, add};
use super::test::{Kind, Test};
use super::units::Units;
use crate::import::{Imported, LeftOut, Line};

/// The beginnings of the lines of a table's head, with single spaces. [`Units::read`] checks the last line whole.
const HEADS: [&str; 9] = [
    "Socket Message Elapsed",
    "Size Size Time Okay",
    "Recv Send Send",
    "Socket Socket Message",
    "Size Size Size Time",
    "Local /Remote",
    "Socket Size Request Resp.",
    "Send Recv Size Size Time",
    "bytes ",
];

/// The numbers of values that a line without a banner may have; a part of the error message.
const SHAPES: &str = "UDP_STREAM has 6 or 8 numbers and 2 fewer in the next line, TCP_STREAM 5 or 9, TCP_RR and UDP_RR 6 or 10 \
                      and 2 in the next line";

/// Whether a line belongs to the head of a table.
pub(super) fn is_head(text: &str) -> bool {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    HEADS.iter().any(|head| plain.starts_with(head))
}

pub(super) fn begins_with_number(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| word.parse::<f64>().is_ok())
}

/// Returns the number of lines of the `-v 2` details that begin here. They repeat facts, or contain facts that no row
/// has.
pub(super) fn detail(lines: &[Line]) -> Option<usize> {
    let begins = |at: usize, with: &str| lines.get(at).is_some_and(|line: &Line| line.text.starts_with(with));
    if begins(0, "Alignment") && begins(1, "Local") && begins(2, "Send") {
        return Some(lines.len().min(4));
    }
    (begins(0, "Maximum") && begins(1, "Segment") && begins(2, "Size")).then_some(lines.len().min(4))
}

/// Returns the numbers at the beginning of a line. They may be followed by the text of `-B`.
fn numbers(line: &Line) -> Vec<&str> {
    line.text.split_whitespace().take_while(|word| word.parse::<f64>().is_ok()).collect()
}

/// Parses the result that begins with the first of `lines`. Returns the number of its lines.
pub(super) fn result(lines: &[Line], test: &Test, units: &Units, imported: &mut Imported) -> Result<usize, LeftOut> {
    let line = &lines[0];
    let fields = numbers(line);
    let next = lines.get(1).map(numbers).unwrap_or_default();
    if fields.len() == 1 {
        imported.leave(line, "one number says neither size nor time: run netperf without -v 0");
        return Ok(1);
    }
    let Some(kind) = test.kind.or_else(|| kind_of(test, fields.len(), next.len())) else {
        imported.leave(line, test.why_not());
        return Ok(1);
    };
    let (unit, is_assumed) = units.of(line, kind, test.unit)?;
    // UDP_STREAM has counts of messages beside its throughput.
    let name = &test.name;
    if is_assumed && kind != Kind::UdpStream {
        imported.note(format!(
            "{}:{}: no head names the unit of {name}: {unit}, as netperf prints without -f; after -f K, give --test {name}/K",
            line.file, line.number
        ));
    }
    match kind {
        Kind::UdpStream => udp_stream(line, &fields, lines.get(1), &next, test, imported),
        Kind::TcpStream => tcp_stream(line, &fields, test, unit, imported),
        Kind::UdpRr | Kind::TcpRr => request_response(line, &fields, next.len(), kind, test, unit, imported),
    }
}

/// Identifies the test. Without a banner only UDP_STREAM has a shape of its own.
fn kind_of(test: &Test, fields: usize, next: usize) -> Option<Kind> {
    let is_stream = [6, 8].contains(&fields) && next != 2;
    (test.is_unknown() && is_stream).then_some(Kind::UdpStream)
}

/// Returns the error for a line whose number of values does not fit its test.
fn wrong_count(line: &Line, fields: usize, what: &str, expected: &str) -> LeftOut {
    line.error(format!("{fields} numbers where {what} has {expected}; {SHAPES}"))
}

/// Parses the sender's line (socket size, message size, elapsed time, messages, errors, throughput) and the receiver's
/// (socket size, elapsed time, messages, throughput). With -c or -C both have CPU time and demand.
fn udp_stream(
    line: &Line,
    fields: &[&str],
    next_line: Option<&Line>,
    next: &[&str],
    test: &Test,
    imported: &mut Imported,
) -> Result<usize, LeftOut> {
    if ![6, 8].contains(&fields.len()) {
        return Err(wrong_count(line, fields.len(), "a sender's line of UDP_STREAM", "6, or 8 with -c"));
    }
    let Some(next_line) = next_line.filter(|_| !next.is_empty()) else {
        return Err(
            line.error("the receiver's line is missing behind this one; the file is cut off: run netperf again")
        );
    };
    if next.len() != fields.len() - 2 {
        let expected = format!("{}", fields.len() - 2);
        return Err(wrong_count(next_line, next.len(), "the receiver's line of this UDP_STREAM", &expected));
    }
    let elapsed_s = line.positive(fields[2], "the elapsed time")?;
    let figures = Figures::Flood {
        size: line.bytes(fields[1], "the message size")?,
        elapsed_s,
        sent: Some(line.positive(fields[3], "the number of messages")?),
        refused: line.number(fields[4], "the number of errors")?,
        received: next_line.number(next[2], "the number of messages")?,
        socket_bytes: next[0].parse().ok(),
    };
    add(line, test, figures, imported)?;
    Ok(2)
}

/// Parses the receiver's and the sender's socket size, message size, elapsed time and throughput; with -c or -C also
/// CPU time and demand of both.
fn tcp_stream(
    line: &Line,
    fields: &[&str],
    test: &Test,
    unit: &str,
    imported: &mut Imported,
) -> Result<usize, LeftOut> {
    if ![5, 9].contains(&fields.len()) {
        return Err(wrong_count(line, fields.len(), "a line of TCP_STREAM", "5, or 9 with -c"));
    }
    let figures = Figures::Stream {
        size: line.bytes(fields[2], "the message size")?,
        elapsed_s: line.positive(fields[3], "the elapsed time")?,
        throughput: fields[4].to_owned(),
        unit: unit.to_owned(),
        receive_bytes: None,
    };
    add(line, test, figures, imported)?;
    Ok(1)
}

/// Parses socket sizes, request, response, elapsed time and rate; with -c or -C also CPU time and demand. The next line
/// has the other end's socket sizes.
fn request_response(
    line: &Line,
    fields: &[&str],
    next: usize,
    kind: Kind,
    test: &Test,
    unit: &str,
    imported: &mut Imported,
) -> Result<usize, LeftOut> {
    if ![6, 10].contains(&fields.len()) {
        return Err(wrong_count(line, fields.len(), "a line of TCP_RR or UDP_RR", "6, or 10 with -c"));
    }
    if next != 2 {
        return Err(
            line.error("the other end's line is missing behind this one; the file is cut off: run netperf again")
        );
    }
    let figures = Figures::RoundTrip {
        kind,
        request: line.bytes(fields[2], "the request size")?,
        response: line.bytes(fields[3], "the response size")?,
        elapsed_s: line.positive(fields[4], "the elapsed time")?,
        rate: fields[5].to_owned(),
        unit: unit.to_owned(),
    };
    add(line, test, figures, imported)?;
    Ok(2)
}

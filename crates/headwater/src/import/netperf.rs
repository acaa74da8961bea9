//! netperf's UDP_STREAM: its classic text, with or without its banner, and the comma-separated output of `-- -o`.
//!
//! A result is a launch of `udp/flood`: tx is what was sent without error, rx what the receiver got, both over the
//! sender's elapsed time. Results of other tests, and results over a network, are not understood and said so.

use headwater_results::schema::Placement;

use super::{File, Format, ImportError, Imported, Line, numbered};
use crate::plan::rows;
use crate::{patterns, transports};

/// In the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "netperf",
    summary: "netperf's UDP_STREAM over loopback: its text, or `netperf -t UDP_STREAM -- -o \
              LOCAL_SEND_SIZE,ELAPSED_TIME,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS`",
    parse,
};

/// One result.
#[derive(Clone, Copy, Debug)]
struct Sample {
    size: u64,
    /// Numbers in the sender's line; the receiver's has two fewer.
    fields: usize,
    elapsed_s: f64,
    sent: f64,
    refused: f64,
    received: f64,
}

/// What the lines at hand belong to.
enum Place {
    /// UDP_STREAM over loopback, waiting for a sender's line or a receiver's.
    Stream { sender: Option<(Line, Sample)> },
    /// Comma-separated results below a head.
    Separated(Columns),
    /// A test that is not imported.
    Other,
}

fn parse(files: &[File], imported: &mut Imported) -> Result<(), ImportError> {
    for file in files {
        // Without a banner (`-P 0`) there is nothing but results.
        let mut place = Place::Stream { sender: None };
        for line in numbered(file) {
            step(&mut place, line, imported)?;
        }
        finish(&place)?;
    }
    Ok(())
}

fn step(place: &mut Place, line: Line, imported: &mut Imported) -> Result<(), ImportError> {
    if line.text.contains(" TEST from ") || line.text.contains(" TEST to ") {
        finish(place)?;
        *place = place_of(&line.text);
        if matches!(place, Place::Other) {
            imported.unknown.push(line);
        }
        return Ok(());
    }
    if let Some(columns) = Columns::of(&line)? {
        finish(place)?;
        *place = Place::Separated(columns);
        return Ok(());
    }
    if line.text.trim().is_empty() {
        return Ok(());
    }
    match place {
        Place::Other => imported.unknown.push(line),
        Place::Separated(columns) => match columns.sample(&line)? {
            Some(sample) => add(imported, sample),
            None => imported.unknown.push(line),
        },
        Place::Stream { sender } => {
            let fields: Vec<&str> = line.text.split_whitespace().collect();
            if !fields.iter().all(|field| field.parse::<f64>().is_ok()) {
                if !is_head(fields[0]) {
                    imported.unknown.push(line);
                }
                return Ok(());
            }
            match sender.take() {
                None => *sender = Some((line.clone(), sent(&line, &fields)?)),
                Some((_, sample)) => add(imported, received(&line, &fields, sample)?),
            }
        }
    }
    Ok(())
}

/// A sender's line must have had its receiver's.
fn finish(place: &Place) -> Result<(), ImportError> {
    match place {
        Place::Stream { sender: Some((line, _)) } => {
            Err(line.error("the receiver's line is missing behind this one; the file is cut off: run netperf again"))
        }
        _ => Ok(()),
    }
}

/// What a banner announces: `MIGRATED UDP STREAM TEST from ... to localhost (127.0.0.1) port 0 AF_INET`.
fn place_of(banner: &str) -> Place {
    let is_stream = banner.contains("UDP STREAM TEST") || banner.contains("UDP UNIDIRECTIONAL SEND TEST");
    let to = banner.rsplit_once(" to ").map_or("", |(_, to)| to);
    let host = to.split_whitespace().next().unwrap_or("");
    if is_stream && is_loopback(host) { Place::Stream { sender: None } } else { Place::Other }
}

fn is_loopback(host: &str) -> bool {
    host.is_empty() || host.starts_with("localhost") || host.starts_with("127.") || host == "::1"
}

/// The first words of the lines above the figures.
fn is_head(word: &str) -> bool {
    ["Socket", "Size", "bytes"].contains(&word)
}

/// Socket size, message size, elapsed time, messages, errors, throughput; and CPU and demand with `-c`.
fn sent(line: &Line, fields: &[&str]) -> Result<Sample, ImportError> {
    if ![6, 8].contains(&fields.len()) {
        return Err(line.error(format!(
            "{} numbers where a sender's line of UDP_STREAM has 6, or 8 with -c; of other tests nothing is imported",
            fields.len()
        )));
    }
    Ok(Sample {
        size: line.positive(fields[1], "the message size")? as u64,
        fields: fields.len(),
        elapsed_s: line.positive(fields[2], "the elapsed time")?,
        sent: line.positive(fields[3], "the number of messages")?,
        refused: line.number(fields[4], "the number of errors")?,
        received: 0.0,
    })
}

/// Socket size, elapsed time, messages, throughput; and CPU and demand where the sender's line has them.
fn received(line: &Line, fields: &[&str], sample: Sample) -> Result<Sample, ImportError> {
    let expected = sample.fields - 2;
    if fields.len() != expected {
        return Err(line.error(format!(
            "{} numbers where the receiver's line of this UDP_STREAM has {expected}; of other tests nothing is imported",
            fields.len()
        )));
    }
    Ok(Sample { received: line.number(fields[2], "the number of messages")?, ..sample })
}

/// Where the columns that matter stand.
struct Columns {
    size: usize,
    elapsed: usize,
    sent: usize,
    received: usize,
    protocol: Option<usize>,
}

impl Columns {
    /// Those of a head; `None` for a line that is none.
    fn of(line: &Line) -> Result<Option<Columns>, ImportError> {
        let names = fields(&line.text);
        let find = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        // Any selector may stand first; these two are in every choice that could be imported.
        if names.len() < 2 || (find("Elapsed Time (sec)").is_none() && find("Local Send Calls").is_none()) {
            return Ok(None);
        }
        let need = |wanted: &str| {
            find(wanted)
                .ok_or_else(|| line.error(format!("the column {wanted:?} is missing; ask for it: {}", FORMAT.summary)))
        };
        Ok(Some(Columns {
            size: need("Local Send Size")?,
            elapsed: need("Elapsed Time (sec)")?,
            sent: need("Local Send Calls")?,
            received: need("Remote Recv Calls")?,
            protocol: find("Protocol"),
        }))
    }

    /// A result; `None` for one of another protocol.
    fn sample(&self, line: &Line) -> Result<Option<Sample>, ImportError> {
        let fields = fields(&line.text);
        let field = |at: usize| {
            fields.get(at).map(|field| field.trim()).ok_or_else(|| {
                line.error(format!(
                    "{} fields, fewer than the head has; the file is cut off: run netperf again",
                    fields.len()
                ))
            })
        };
        if let Some(protocol) = self.protocol
            && !field(protocol)?.eq_ignore_ascii_case("udp")
        {
            return Ok(None);
        }
        Ok(Some(Sample {
            size: line.positive(field(self.size)?, "the message size")? as u64,
            fields: fields.len(),
            elapsed_s: line.positive(field(self.elapsed)?, "the elapsed time")?,
            sent: line.positive(field(self.sent)?, "the number of messages sent")?,
            refused: 0.0,
            received: line.number(field(self.received)?, "the number of messages received")?,
        }))
    }
}

/// The fields of a comma-separated line.
fn fields(text: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(str::to_owned).collect()
}

fn add(imported: &mut Imported, sample: Sample) {
    let udp = transports::find("udp").expect("udp is in the table").info;
    let flood = patterns::find("flood").expect("flood is in the table").info;
    let row = rows::of_transport(udp, flood, sample.size, None, Placement::Free);
    let rate = |messages: f64| messages / sample.elapsed_s;
    // netperf may count a message more at the receiver than at the sender.
    let loss = ((sample.sent - sample.received) / sample.sent).max(0.0);
    let counters = vec![("operations", sample.sent), ("refused", sample.refused)];
    imported.add(row, None, vec![rate(sample.received), rate(sample.sent), loss], counters);
    imported.time_s = imported.time_s.max(sample.elapsed_s);
}

#[cfg(test)]
mod tests;

//! Imports result files of lmbench 2 and 3 (`results/<system>/<host>.<n>`): each file is a launch of all its rows; and
//! the summary of them ([`summary`]).
//!
//! Written from the printed form of its results. Round trips of pipe, FIFO, AF_UNIX, UDP and TCP are rows of pattern
//! `rtt`. Everything else keeps its own definition as pattern `lmbench`, with the names of the published table `ltt`.
//! lmbench 2 also prints single figures with the unit `usecs` and one figure of the socket bandwidth.
//!
//! Its statements about processors and caches are left out with the reason. Lines in brackets are settings; the first
//! of them names the machine. A table by size becomes a series of rows with sizes. Its largest size exceeds the caches;
//! it is also the row without a size, as in the suite `lmbench`.

use headwater_gauge::plan::rows;
use headwater_gauge::{patterns, transports};
use headwater_results::schema::{Metric, Placement, Row, Standing, lmbench_definition};

use super::{File, Format, ImportError, Imported, LeftOut, Line, Options, numbered};

mod summary;
mod tables;

use tables::{Names, SECTIONS, SINGLE, Section, Target, Unit};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "lmbench",
    summary: "result files of lmbench, each one launch: lines such as `Pipe latency: 8.02 microseconds`; and summaries",
    parse,
};

fn parse(files: &[File], options: &Options, imported: &mut Imported) -> Result<(), ImportError> {
    if options.test.is_some() || options.columns.is_some() {
        return Err(ImportError::usage("--test and --columns are for netperf".into()));
    }
    let mut machine: Option<(Line, String)> = None;
    let mut block = 0;
    for file in files {
        let section = Heading::Other(NO_HEADING);
        let mut reader =
            Reader { block, section, loads: Loads::InOrder, seen: Vec::new(), largest: Vec::new(), imported };
        let lines: Vec<Line> = numbered(file).collect();
        // A summary has several launches.
        let (mut at, mut launches) = (0, 1);
        while let Some(line) = lines.get(at) {
            if let Some((used, rows)) = summary::table(&lines[at..], block, reader.imported) {
                launches = launches.max(rows.len() as u32);
                for (line, names) in &rows {
                    same_machine(&mut machine, line, names)?;
                }
                at += used;
                continue;
            }
            if let Some(found) = uname(&line.text) {
                same_machine(&mut machine, line, &found)?;
            }
            if let Err(left) = reader.step(line) {
                reader.imported.left_out.push(left);
            }
            at += 1;
        }
        reader.add_null_io();
        reader.add_largest();
        block += launches;
    }
    if let Some((_, names)) = machine {
        let mut words = names.split_whitespace();
        imported.environment.host = words.next().unwrap_or_default().to_owned();
        imported.environment.kernel.release = words.next().unwrap_or_default().to_owned();
        imported.environment.kernel.version = words.collect::<Vec<_>>().join(" ");
    }
    Ok(())
}

/// Returns the output of `uname -a` without the system's name: `[lmbench3.0 results for Linux host 6.1.0 #1 SMP ...]`.
fn uname(line: &str) -> Option<String> {
    let (_, uname) = line.strip_prefix("[lmbench")?.split_once(" results for ")?;
    let (_, names) = uname.split_once(' ')?;
    Some(names.trim_end().trim_end_matches(']').to_owned())
}

/// Checks that all files are of the same machine.
fn same_machine(machine: &mut Option<(Line, String)>, line: &Line, found: &str) -> Result<(), ImportError> {
    match machine {
        Some((first, known)) if known != found => Err(line.error(format!(
            "this is {found:?}, but {}:{} is {known:?}; import different machines one by one, of a summary a copy with \
             the lines of one, and compare the runs",
            first.file, first.number
        ))
        .into()),
        Some(_) => Ok(()),
        None => {
            *machine = Some((line.clone(), found.to_owned()));
            Ok(())
        }
    }
}

/// The reason for leaving out numbers without a heading.
const NO_HEADING: &str = "numbers without a heading that says of what";

/// The reason for leaving out other lines of text.
const NOT_KNOWN: &str = "no result of lmbench that is known";

/// The order of the loads of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loads {
    /// Along the stride.
    InOrder,
    /// In random order. The headings of both kinds name a stride, so the stride alone does not distinguish them.
    Random,
}

/// The meaning of the numbers below a heading.
enum Heading {
    /// One of [`SECTIONS`].
    Known(&'static Section),
    /// Context switches with the given size in KiB.
    Switches(String),
    /// Loads with the given stride.
    Loads(String),
    /// A table that is not imported, with the reason.
    Other(&'static str),
}

struct Reader<'a> {
    block: u32,
    section: Heading,
    loads: Loads,
    /// The row ids that this file has had.
    seen: Vec<(String, f64)>,
    /// The largest size of each table by size: name and unit of the row without a size, the size and the figure.
    largest: Vec<(String, Unit, u64, f64)>,
    imported: &'a mut Imported,
}

impl Reader<'_> {
    fn step(&mut self, line: &Line) -> Result<(), LeftOut> {
        let text = line.text.trim();
        if ["Memory load latency", "Random load latency"].contains(&text) {
            self.loads = if text.starts_with("Random") { Loads::Random } else { Loads::InOrder };
            self.section = Heading::Other(NO_HEADING);
            return Ok(());
        }
        if text.is_empty() || (text.starts_with('[') && text.ends_with(']')) {
            return Ok(());
        }
        if let Some(place) = heading(text) {
            if let Heading::Other(why) = place {
                self.imported.leave(line, why);
            }
            self.section = place;
            return Ok(());
        }
        if let Some((rest, single)) = SINGLE.iter().find_map(|single| Some((text.strip_prefix(single.label)?, single)))
        {
            return self.single(line, rest, single);
        }
        if let Some(figures) = text.strip_prefix(tables::HTTP) {
            return self.http(line, figures.trim());
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        if !fields[0].starts_with(|c: char| c.is_ascii_digit()) {
            match tables::why_not(text) {
                Some(why) => self.imported.leave(line, why),
                None => self.imported.leave_stray(line, NOT_KNOWN),
            }
            return Ok(());
        }
        match &self.section {
            Heading::Known(section) => self.in_section(line, &fields, section),
            Heading::Switches(size) => {
                let subject = format!("ctxsw-{}p-{size}", fields[0]);
                line.positive(fields[0], "the number of processes")?;
                // The subtracted part is measured separately; on a fast machine it may be the larger one.
                if fields.get(1).and_then(|figure| figure.parse::<f64>().ok()).is_some_and(|figure| figure <= 0.0) {
                    self.imported.leave(line, "lmbench subtracted as much as it had measured: nothing is left");
                    return Ok(());
                }
                self.add(line, Target::Row(&subject, Unit::Us), None, field(line, &fields, 1)?)
            }
            Heading::Loads(stride) => {
                let size = bytes(line, fields[0])?;
                let subject = match self.loads {
                    Loads::InOrder => format!("memory-load-stride-{stride}"),
                    Loads::Random => format!("memory-load-random-{stride}"),
                };
                self.add(line, Target::Row(&subject, Unit::Ns), Some(size), field(line, &fields, 1)?)
            }
            Heading::Other(why) => {
                self.imported.leave_stray(line, why);
                Ok(())
            }
        }
    }

    /// Imports `Label: 1.23 microseconds`; some labels end in the name of a file or host.
    fn single(&mut self, line: &Line, rest: &str, single: &tables::Single) -> Result<(), LeftOut> {
        self.section = Heading::Other(NO_HEADING);
        let Some((between, value)) = rest.split_once(':') else {
            self.imported.leave(line, "no figure behind its name");
            return Ok(());
        };
        let fits = match single.names {
            Names::Nothing => between.trim().is_empty(),
            Names::File => true,
            // Over a network, the measurement is a different one.
            Names::Host => ["localhost", "127.0.0.1"].contains(&between.trim()),
        };
        if !fits {
            self.imported.leave(
                line,
                match single.names {
                    Names::Host => "over a network this is another measurement: only localhost is imported",
                    Names::Nothing | Names::File => NOT_KNOWN,
                },
            );
            return Ok(());
        }
        let mut words = value.split_whitespace();
        let (figure, unit) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some(scale) = tables::scale(unit, single.target.unit()) else {
            return Err(line.error(format!("the unit {unit:?} where {} is expected", single.target.unit().name())));
        };
        if unit == "usecs" {
            self.imported.note(format!("{}:{}: lmbench 2 prints this in whole microseconds", line.file, line.number));
        }
        let figure = line.positive(figure, "the figure")? * scale;
        self.add(line, single.target, None, figure)
    }

    /// Imports `Avg xfer: 3.2KB, 41.8KB in 0.5000 millisecs, 83.60 MB/sec`, which names no host.
    fn http(&mut self, line: &Line, figures: &str) -> Result<(), LeftOut> {
        self.section = Heading::Other(NO_HEADING);
        if !figures.starts_with(tables::HTTP_PAGES) {
            self.imported.leave(line, "other pages than those that LMbench brings along: another measurement");
            return Ok(());
        }
        let Some(figure) = figures.strip_suffix(" MB/sec").and_then(|rest| rest.split_whitespace().next_back()) else {
            return Err(line.error("an HTTP figure ends in MB/sec"));
        };
        let figure = line.positive(figure, "the figure")?;
        self.add(line, Target::Row("http", Unit::MegabytesPerSecond), None, figure)
    }

    fn in_section(&mut self, line: &Line, fields: &[&str], section: &Section) -> Result<(), LeftOut> {
        match section.target {
            // Columns: size, files, creations per second, deletions per second.
            Target::Files => {
                for (what, at) in [("create", 2), ("delete", 3)] {
                    let subject = format!("{what}-{}", fields[0]);
                    self.add(line, Target::Row(&subject, Unit::Us), None, 1e6 / field(line, fields, at)?)?;
                }
                Ok(())
            }
            target => {
                let size = bytes(line, fields[0])?;
                self.add(line, target, Some(size), field(line, fields, 1)?)
            }
        }
    }

    fn add(&mut self, line: &Line, target: Target<'_>, size: Option<u64>, value: f64) -> Result<(), LeftOut> {
        let (row, value) = match target {
            Target::RoundTrip(transport, size) => (round_trip(transport, size), value * 1e3),
            Target::Row(subject, unit) => {
                self.note_largest(subject, unit, size, value);
                (own_row(subject, unit, size), value)
            }
            Target::Files => unreachable!("a line of files is two rows"),
        };
        if self.seen.iter().any(|(id, _)| *id == row.id) {
            return Err(line.error(format!(
                "a second result of {} in one file; a file is one launch: give each launch a file of its own",
                row.id
            )));
        }
        self.seen.push((row.id.clone(), value));
        self.imported.add(row, Some(self.block), vec![Some(value)], Vec::new());
        Ok(())
    }

    /// Records the largest size of a table. Of the tables of loads, only those of one stride are rows of the suite.
    fn note_largest(&mut self, subject: &str, unit: Unit, size: Option<u64>, value: f64) {
        let (Some(size), Some(subject)) = (size, tables::without_size(subject)) else {
            return;
        };
        match self.largest.iter_mut().find(|(known, ..)| known == subject) {
            Some((_, _, largest, figure)) if size > *largest => (*largest, *figure) = (size, value),
            Some(_) => {}
            None => self.largest.push((subject.to_owned(), unit, size, value)),
        }
    }

    fn add_largest(&mut self) {
        for (subject, unit, _, value) in std::mem::take(&mut self.largest) {
            self.imported.add(own_row(&subject, unit, None), Some(self.block), vec![Some(value)], Vec::new());
        }
    }

    /// Adds null I/O: the mean of reading and writing one byte.
    fn add_null_io(&mut self) {
        let value = |subject: &str| {
            let id = own_row(subject, Unit::Us, None).id;
            self.seen.iter().find(|(seen, _)| *seen == id).map(|(_, value)| *value)
        };
        if let (Some(read), Some(write)) = (value("read"), value("write")) {
            let row = own_row("null-io", Unit::Us, None);
            self.imported.add(row, Some(self.block), vec![Some((read + write) / 2.0)], Vec::new());
        }
    }
}

/// Returns what follows a heading, or `None` if the line is not a heading. Most headings begin with a quotation mark
/// that is never closed.
fn heading(text: &str) -> Option<Heading> {
    let is_quoted = text.starts_with('"');
    let text = text.trim_matches('"');
    // lmbench 2 prints a figure after some of them.
    let section = SECTIONS.iter().find(|section| text.starts_with(section.heading) && !text.contains(':'));
    if let Some(section) = section {
        return Some(Heading::Known(section));
    }
    let size = text.strip_prefix("size=").and_then(|rest| rest.split_whitespace().next());
    let stride = text.strip_prefix("stride=").and_then(|rest| rest.split_whitespace().next());
    match (size, stride) {
        (Some(size), _) => Some(Heading::Switches(size.to_owned())),
        (_, Some(stride)) => Some(Heading::Loads(stride.to_owned())),
        _ if text == "Memory load parallelism" => Some(Heading::Other("how many loads go at once is no row")),
        _ => is_quoted.then_some(Heading::Other("a heading that is not known")),
    }
}

/// Returns a figure of a line of numbers.
fn field(line: &Line, fields: &[&str], at: usize) -> Result<f64, LeftOut> {
    let Some(field) = fields.get(at) else {
        return Err(line.error(format!("{} numbers, too few; the file is cut off: run lmbench again", fields.len())));
    };
    line.positive(field, "the figure")
}

/// Returns the bytes of a size in millions of bytes. Sizes above 1 MB are printed with two decimals; a size close to a
/// power of two is taken for it.
fn bytes(line: &Line, megabytes: &str) -> Result<u64, LeftOut> {
    const NEAR: f64 = 0.005;
    let bytes = line.positive(megabytes, "the size")? * 1e6;
    let power = bytes.log2().round().exp2();
    Ok(if bytes > 1e6 && (bytes / power - 1.0).abs() < NEAR { power } else { bytes.round() } as u64)
}

fn round_trip(transport: &str, size: u64) -> Row {
    let transport = transports::find(transport).expect("the tables name transports").info;
    let rtt = patterns::find("rtt").expect("rtt is in the table").info;
    rows::of_transport(transport, rtt, size, None, Placement::Free)
}

fn own_row(subject: &str, unit: Unit, size: Option<u64>) -> Row {
    let metric = Metric { name: unit.metric().to_owned(), unit: unit.name().to_owned(), better: unit.better() };
    let parameters = size.map(|size| format!("/{size}")).unwrap_or_default();
    Row {
        id: format!("{subject}/lmbench{parameters}/{}", Placement::Free.name()),
        subject: subject.to_owned(),
        pattern: "lmbench".to_owned(),
        definition_version: lmbench_definition(subject),
        standing: Standing::Candidate,
        placement: Placement::Free,
        size_bytes: size,
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: vec![metric],
    }
}

#[cfg(test)]
mod tests;

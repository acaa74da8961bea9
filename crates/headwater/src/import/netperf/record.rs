//! Results with named values: keys with values (`-k`), comma-separated columns (`-o`), and columns of text with several
//! lines of head (`-O`). All of them become a [`Record`] with the names of netperf's selectors. Called by the reader.

use std::collections::BTreeMap;

use super::rows::{Figures, add};
use super::test::{Kind, Test, is_loopback};
use super::units::{TRANSACTIONS, bytes_per_second, unit};
use crate::import::{Imported, LeftOut, Line};

/// Every selector with the name of its column, in the order of `-o all`: output of netperf 2.7.0.
const COLUMNS: &str = include_str!("columns.tsv");

/// The columns that `-o` prints by default, for one-way tests and for request and response.
const ONE_WAY: [&str; 6] =
    ["LSS_SIZE_END", "RSR_SIZE_END", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT", "THROUGHPUT_UNITS"];
const BOTH_WAYS: [&str; 9] = [
    "LSS_SIZE_END",
    "LSR_SIZE_END",
    "RSR_SIZE_END",
    "RSS_SIZE_END",
    "REQUEST_SIZE",
    "RESPONSE_SIZE",
    "ELAPSED_TIME",
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
];

fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.lines().filter_map(|line| line.split_once('\t'))
}

/// Returns the selector of a column.
fn selector(column: &str) -> Option<&'static str> {
    columns().find(|(_, name)| *name == column).map(|(selector, _)| selector)
}

/// Parses the selectors of `--columns`.
///
/// # Errors
/// The first selector that netperf does not have.
pub(super) fn columns_named(list: &str) -> Result<Vec<String>, String> {
    if list.eq_ignore_ascii_case("all") {
        return Ok(columns().map(|(selector, _)| selector.to_owned()).collect());
    }
    let named = |name: &str| {
        let name = name.trim().to_ascii_uppercase();
        let known = columns().any(|(selector, _)| selector == name);
        if known { Ok(name) } else { Err(format!("--columns: netperf has no selector {name}; see `netperf -- -o ?`")) }
    };
    list.split([',', ';']).map(named).collect()
}

/// Parses `KEY=value`.
pub(super) fn key_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    columns().any(|(selector, _)| selector == key).then(|| (key, value.trim_matches('"')))
}

/// Parses the head of comma-separated values into selectors; `None` if the line is not a head.
pub(super) fn comma_head(text: &str) -> Option<Vec<String>> {
    let selectors: Vec<Option<&str>> = values(text).iter().map(|name| selector(name)).collect();
    let known = selectors.iter().flatten().count();
    // One word that is also a column's name is not a head; several names separated by commas are.
    let is_head = known > 0 && known == selectors.len() && (known > 1 || text.contains(' '));
    is_head.then(|| selectors.into_iter().flatten().map(str::to_owned).collect())
}

/// Splits a line of values at commas, or else at white space.
pub(super) fn values(text: &str) -> Vec<String> {
    if !text.contains(',') && selector(text.trim()).is_none() {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.trim().as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|value| value.trim().to_owned()).collect()
}

/// Returns the selectors of values without a head if their shape is unambiguous: netperf's default columns.
pub(super) fn columns_guessed(values: &[String]) -> Option<Vec<String>> {
    let is_unit = |at: usize| values.get(at).is_some_and(|text| unit(text).is_some());
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    if values.len() == columns().count() && values.get(1).is_some_and(|protocol| Kind::of(protocol, "Send").is_some()) {
        return Some(columns().map(|(selector, _)| selector.to_owned()).collect());
    }
    match () {
        () if is_unit(ONE_WAY.len() - 1) => Some(owned(&ONE_WAY)),
        () if is_unit(BOTH_WAYS.len() - 1) => Some(owned(&BOTH_WAYS)),
        () => None,
    }
}

/// Parses a block of text whose head has several lines. Returns its selectors, its values, and the number of lines.
pub(super) fn block(lines: &[Line]) -> Option<(Vec<String>, Vec<String>, usize)> {
    // The next result's banner may follow immediately.
    let goes_on = |line: &&Line| !line.text.trim().is_empty() && Test::of_banner(line.text.trim()).is_none();
    let used = lines.iter().take_while(goes_on).count();
    let (values, head) = lines[..used].split_last()?;
    let texts: Vec<Vec<char>> = lines[..used].iter().map(|line| line.text.chars().collect()).collect();
    let is_blank = |text: &Vec<char>, at: usize| text.get(at).is_none_or(|c| *c == ' ');
    let is_gap = |at: usize| texts.iter().all(|text| is_blank(text, at));
    // Values may contain spaces, so a column begins where its heading does.
    let is_named = |at: usize| texts[..used - 1].iter().any(|text| !is_blank(text, at));
    let width = texts.iter().map(Vec::len).max()?;
    let starts: Vec<usize> = (0..width).filter(|&at| is_named(at) && (at == 0 || is_gap(at - 1))).collect();
    let part = |line: &Line, at: usize, end: usize| -> String {
        let part: String = line.text.chars().skip(at).take(end - at).collect();
        part.trim().to_owned()
    };
    let (mut selectors, mut fields) = (Vec::new(), Vec::new());
    for (index, &at) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(width);
        let words: Vec<String> = head.iter().map(|line| part(line, at, end)).filter(|word| !word.is_empty()).collect();
        selectors.push(selector(&words.join(" "))?.to_owned());
        fields.push(part(values, at, end).trim_matches('"').to_owned());
    }
    (!selectors.is_empty() && !head.is_empty()).then_some((selectors, fields, used))
}

/// The named values of one result.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The line where it begins.
    line: Line,
    is_keys: bool,
    values: BTreeMap<String, String>,
}

impl Record {
    /// Makes a record for keys with values, or for one line.
    pub fn keys(line: &Line) -> Record {
        Record { line: line.clone(), is_keys: true, values: BTreeMap::new() }
    }

    /// Makes a record for a block of text.
    pub fn block(line: &Line) -> Record {
        Record { is_keys: false, ..Record::keys(line) }
    }

    pub fn is_keys(&self) -> bool {
        self.is_keys
    }

    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub fn insert(&mut self, key: &str, value: &str) {
        self.values.insert(key.to_owned(), value.to_owned());
    }

    /// Returns a value unless it is -1 or empty, which netperf prints for values that do not apply.
    fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|value| !value.is_empty() && *value != "-1")
    }

    /// Adds the result, or records the reason for leaving it out.
    pub fn add(&self, test: &Test, imported: &mut Imported) -> Result<(), LeftOut> {
        let test = self.test(test);
        let Some(kind) = test.kind else {
            imported.leave(&self.line, test.why_not());
            return Ok(());
        };
        match self.figures(kind)? {
            Ok(figures) => add(&self.line, &test, figures, imported),
            Err(missing) => {
                imported.leave(&self.line, format!("{missing} is missing: add it to the selectors of -o, -O or -k"));
                Ok(())
            }
        }
    }

    /// Returns the test according to the values and the banner.
    fn test(&self, banner: &Test) -> Test {
        let mut test = banner.clone();
        let direction = self.get("DIRECTION").or(test.direction.as_deref()).map(str::to_owned);
        if let (Some(protocol), Some(direction)) = (self.get("PROTOCOL"), direction) {
            test.kind = Kind::of(protocol, &direction);
            test.name = format!("{protocol} {direction}");
            test.direction = None;
        } else if let (Some(protocol), Some(kind)) = (self.get("PROTOCOL"), test.kind) {
            let is_udp = matches!(kind, Kind::UdpStream | Kind::UdpRr);
            if is_udp != protocol.eq_ignore_ascii_case("UDP") {
                (test.kind, test.name) = (None, format!("{} over {protocol}", test.name));
            }
        }
        test.nodelay |= self.get("LOCAL_NODELAY").is_some_and(|value| value != "0");
        test.burst = self.get("BURST_SIZE").and_then(|value| value.parse().ok()).unwrap_or(test.burst);
        test.remote |= self.get("DEST_ADDR").is_some_and(|host| !is_loopback(host));
        let own_options = self.get("COMMAND_LINE").and_then(|command| command.split_once(" -- ")).map(|(_, own)| own);
        test.connected |= own_options.is_some_and(|own| own.split_whitespace().any(|word| word == "-n"));
        test
    }

    /// Returns the figures of a test of that kind, or the missing selector.
    fn figures(&self, kind: Kind) -> Result<Result<Figures, &'static str>, LeftOut> {
        let line = &self.line;
        macro_rules! need {
            ($key:literal) => {
                match self.get($key) {
                    Some(value) => value,
                    None => return Ok(Err($key)),
                }
            };
        }
        let elapsed_s = |text: &str| line.positive(text, "the elapsed time");
        Ok(Ok(match kind {
            Kind::UdpStream => {
                let size = line.bytes(need!("LOCAL_SEND_SIZE"), "the message size")?;
                let elapsed_s = elapsed_s(need!("ELAPSED_TIME"))?;
                let (sent, received) = match (self.get("LOCAL_SEND_CALLS"), self.get("REMOTE_RECV_CALLS")) {
                    (Some(sent), Some(received)) => (
                        Some(line.positive(sent, "the number of messages sent")?),
                        line.number(received, "the number of messages received")?,
                    ),
                    // In UDP_STREAM, THROUGHPUT is that of the receiver.
                    _ => {
                        let scale = bytes_per_second(line, need!("THROUGHPUT_UNITS"))?;
                        let throughput = line.number(need!("THROUGHPUT"), "the throughput")?;
                        (None, throughput * scale * elapsed_s / size as f64)
                    }
                };
                let socket_bytes = self.get("RSR_SIZE_END").and_then(|text| text.parse().ok());
                Figures::Flood { size, elapsed_s, sent, refused: 0.0, received, socket_bytes }
            }
            Kind::TcpStream => Figures::Stream {
                size: line.bytes(need!("LOCAL_SEND_SIZE"), "the message size")?,
                elapsed_s: elapsed_s(need!("ELAPSED_TIME"))?,
                throughput: need!("THROUGHPUT").to_owned(),
                unit: need!("THROUGHPUT_UNITS").to_owned(),
                receive_bytes: self.get("REMOTE_RECV_SIZE").and_then(|text| text.parse().ok()),
            },
            Kind::UdpRr | Kind::TcpRr => {
                let exact = self.get("TRANSACTION_RATE").map(|rate| (rate, TRANSACTIONS));
                let (rate, unit) = match exact {
                    Some(exact) => exact,
                    None => (need!("THROUGHPUT"), need!("THROUGHPUT_UNITS")),
                };
                Figures::RoundTrip {
                    kind,
                    request: line.bytes(need!("REQUEST_SIZE"), "the request size")?,
                    response: line.bytes(need!("RESPONSE_SIZE"), "the response size")?,
                    elapsed_s: elapsed_s(need!("ELAPSED_TIME"))?,
                    rate: rate.to_owned(),
                    unit: unit.to_owned(),
                }
            }
        }))
    }
}

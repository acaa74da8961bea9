//! Reads the summary that `make see` and `make summary` of lmbench 2 and 3 print, and that is what people publish: tables
//! with a line for each result file. Called by the reader at every line.
//!
//! Written from published summaries. A table is known by its title, which states the unit, and by its two lines of head,
//! which state the columns. A table with another head is left out, and so is a line whose figures cannot be attributed to
//! columns: an empty cell is only told by the places of the others.

use super::tables::{Target, Unit};
use super::{own_row, round_trip};
use crate::import::{Imported, LeftOut, Line};
use headwater_results::schema::Row;

/// A column: its row, the reason for leaving it out, or nothing.
#[derive(Clone, Copy)]
enum Column {
    /// The row that its figures are.
    Of(Target<'static>),
    /// Not imported, for this reason.
    LeftOut(&'static str),
    /// No result.
    Setting,
}

use Column::{LeftOut as No, Of, Setting};

const fn us(subject: &'static str) -> Column {
    Of(Target::Row(subject, Unit::Us))
}

const fn ns(subject: &'static str) -> Column {
    Of(Target::Row(subject, Unit::Ns))
}

const fn rate(subject: &'static str) -> Column {
    Of(Target::Row(subject, Unit::MegabytesPerSecond))
}

const fn rtt(transport: &'static str, size: u64) -> Column {
    Of(Target::RoundTrip(transport, size))
}

/// A table that is imported.
struct Table {
    /// The beginning of its title, with the unit.
    title: &'static str,
    /// The words of the head. The version decides which of several a table has.
    heads: &'static [&'static str],
    columns: &'static [Column],
    /// Whether a guess in words follows the figures, which do not stand below the head.
    has_guesses: bool,
}

/// The reason for a column that does not say what it is.
const OF_HOW_MANY: &str = "the summary does not say how many descriptors `slct TCP` has";

static TABLES: &[Table] = &[
    Table {
        title: "Processor, Processes - times in microseconds",
        heads: &[
            "Mhz null null open slct sig sig fork exec sh call I/O stat clos TCP inst hndl proc proc proc",
            "Mhz null null open selct sig sig fork exec sh call I/O stat clos TCP inst hndl proc proc proc",
        ],
        has_guesses: false,
        columns: &[
            Setting,
            us("null-call"),
            us("null-io"),
            us("stat"),
            us("open-close"),
            No(OF_HOW_MANY),
            us("signal-install"),
            us("signal-handle"),
            us("fork"),
            us("execve"),
            us("sh"),
        ],
    },
    Table {
        title: "Context switching - times in microseconds",
        heads: &["2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K ctxsw ctxsw ctxsw ctxsw ctxsw ctxsw ctxsw"],
        has_guesses: false,
        columns: &[
            us("ctxsw-2p-0k"),
            us("ctxsw-2p-16k"),
            us("ctxsw-2p-64k"),
            us("ctxsw-8p-16k"),
            us("ctxsw-8p-64k"),
            us("ctxsw-16p-16k"),
            us("ctxsw-16p-64k"),
        ],
    },
    Table {
        title: "*Local* Communication latencies in microseconds",
        heads: &["2p/0K Pipe AF UDP RPC/ TCP RPC/ TCP ctxsw UNIX UDP TCP conn"],
        // The first repeats a column of the table above.
        has_guesses: false,
        columns: &[
            Setting,
            rtt("pipe", 1),
            rtt("unix-stream", 1),
            rtt("udp", 4),
            us("rpc-udp"),
            rtt("tcp", 1),
            us("rpc-tcp"),
            us("tcp-connect"),
        ],
    },
    Table {
        title: "File & VM system latencies in microseconds",
        heads: &[
            "0K File 10K File Mmap Prot Page 100fd Create Delete Create Delete Latency Fault Fault selct",
            "0K File 10K File Mmap Prot Page Create Delete Create Delete Latency Fault Fault",
        ],
        has_guesses: false,
        columns: &[
            us("create-0k"),
            us("delete-0k"),
            us("create-10k"),
            us("delete-10k"),
            us("mmap-latency"),
            us("prot-fault"),
            us("page-fault"),
            us("select-100-fd"),
        ],
    },
    Table {
        title: "*Local* Communication bandwidths in MB/s",
        heads: &["Pipe AF TCP File Mmap Bcopy Bcopy Mem Mem UNIX reread reread (libc) (hand) read write"],
        has_guesses: false,
        columns: &[
            rate("pipe-bandwidth"),
            rate("af-unix-bandwidth"),
            rate("tcp-bandwidth"),
            rate("file-reread"),
            rate("mmap-reread"),
            rate("bcopy-libc"),
            rate("bcopy-hand"),
            rate("memory-read"),
            rate("memory-write"),
        ],
    },
    Table {
        title: "Memory latencies in nanoseconds",
        heads: &["Mhz L1 $ L2 $ Main mem Rand mem Guesses", "Mhz L1 $ L2 $ Main mem Guesses"],
        has_guesses: true,
        columns: &[
            Setting,
            ns("l1-cache"),
            ns("l2-cache"),
            ns("main-memory"),
            No("loads in an order that lmbench does not describe: main-memory-random has its own"),
        ],
    },
];

/// The tables that are not imported, with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("Basic system parameters", "settings are no results"),
    ("Basic ", "operations of the processor are no rows: their kernel decides nothing"),
    ("*Remote* Communication", "over a network this is another measurement"),
];

/// The lines between a title and its first line of figures, of which one warns.
const HEAD_LINES_MAX: usize = 7;

/// Reads the table that begins with the first of `lines`. Returns the number of its lines, and for each line of figures
/// the machine; `None` if no table begins there.
pub(super) fn table(lines: &[Line], block: u32, imported: &mut Imported) -> Option<(usize, Vec<(Line, String)>)> {
    let title = lines[0].text.trim();
    let table = TABLES.iter().find(|table| title.starts_with(table.title));
    let other = OTHERS.iter().find(|(beginning, _)| title.starts_with(beginning));
    if table.is_none() && other.is_none() {
        return None;
    }
    let is_ruler = |line: &&Line| line.text.starts_with("---");
    let is_columns = |line: &Line| is_ruler(&line) && line.text.trim().contains(' ');
    let ruler = lines.iter().take(HEAD_LINES_MAX).position(is_columns)?;
    let rows = lines[ruler + 1..].iter().take_while(|line| !line.text.trim().is_empty());
    let used = ruler + 1 + rows.clone().count();
    let head: Vec<&str> = lines[1..ruler]
        .iter()
        .filter(|line| !is_ruler(line) && !line.text.trim().starts_with('('))
        .flat_map(|line| line.text.split_whitespace())
        .collect();
    let head = head.join(" ");
    let Some(table) = table else {
        imported.leave(&lines[0], other.map_or("", |(_, why)| why));
        return Some((used, Vec::new()));
    };
    let words = head.strip_prefix("Host OS ").filter(|words| table.heads.contains(words));
    if words.is_none() {
        imported.leave(&lines[0], format!("the head of this table is not understood: {head:?}"));
        return Some((used, Vec::new()));
    }
    let spans = spans(&lines[ruler].text);
    let mut machines = Vec::new();
    for (at, line) in rows.enumerate() {
        match figures(line, &spans, table) {
            Ok((machine, cells)) => {
                machines.push((line.clone(), machine));
                for (column, cell) in cells {
                    if let Err(left) = add(line, column, cell, block + at as u32, imported) {
                        imported.left_out.push(left);
                    }
                }
            }
            Err(left) => imported.left_out.push(left),
        }
    }
    for column in table.columns {
        if let No(why) = column {
            imported.note(format!("{}: left out: {why}", lines[0].file));
        }
    }
    Some((used, machines))
}

/// Returns the first and the last place of every word, in characters.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.chars().enumerate().filter(|(_, c)| !c.is_whitespace()) {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == at => *end = at,
            _ => spans.push((at, at)),
        }
    }
    spans
}

type Cells<'a> = Vec<(Column, &'a str)>;

/// Returns the machine of a line, and its cells with their columns.
fn figures<'a>(line: &'a Line, ruler: &[(usize, usize)], table: &Table) -> Result<(String, Cells<'a>), LeftOut> {
    let text = line.text.trim_end();
    let [host, system, columns @ ..] = ruler else {
        return Err(line.error("the columns of this table are not understood"));
    };
    // A longer name moves its line to the right.
    let name = text.split_whitespace().next().map_or(0, |name| name.chars().count());
    let shift = name.saturating_sub(host.1 - host.0 + 1);
    let begin = system.1 + 1 + shift;
    let offset = text.char_indices().nth(begin).map_or(text.len(), |(offset, _)| offset);
    let (names, values) = text.split_at(offset);
    // A guess in words may follow the figures.
    let is_figure = |word: &str| word == "-" || word.trim_end_matches('K').parse::<f64>().is_ok();
    let places = spans(values);
    let words: Vec<(usize, &str)> = places
        .iter()
        .map(|(_, end)| end + begin - shift)
        .zip(values.split_whitespace())
        .take_while(|(_, word)| is_figure(word))
        .collect();
    let known = table.columns;
    let cells: Option<Cells<'a>> = if words.len() == columns.len() - usize::from(table.has_guesses) {
        Some(known.iter().copied().zip(words.iter().map(|&(_, word)| word)).collect())
    } else {
        let of = |&(end, word): &(usize, &'a str)| {
            let at = columns.iter().position(|column| column.1 == end)?;
            Some((*known.get(at)?, word))
        };
        let can_tell = !table.has_guesses && !words.is_empty() && words.len() == places.len();
        can_tell.then(|| words.iter().map(of).collect()).flatten()
    };
    match cells {
        Some(cells) => {
            Ok((names.split_whitespace().filter(|word| *word != "Linux").collect::<Vec<_>>().join(" "), cells))
        }
        None => Err(line.error("its figures cannot be told apart: they do not stand below the columns of the head")),
    }
}

/// The fewest digits of a figure in thousands: with two the error is up to 5 %.
const DIGITS_MIN: usize = 3;

fn add(line: &Line, column: Column, cell: &str, block: u32, imported: &mut Imported) -> Result<(), LeftOut> {
    let Of(target) = column else { return Ok(()) };
    if cell == "-" {
        return Ok(());
    }
    let (digits, scale) = match cell.strip_suffix('K') {
        Some(digits) => (digits, 1e3),
        None => (cell, 1.0),
    };
    if scale > 1.0 && digits.chars().filter(char::is_ascii_digit).count() < DIGITS_MIN {
        return Err(line.error(format!("{cell} has too few digits: import the result file itself")));
    }
    let value = line.positive(digits, "a figure")? * scale;
    let (row, value): (Row, f64) = match target {
        Target::RoundTrip(transport, size) => (round_trip(transport, size), value * 1e3),
        Target::Row(subject, unit) => (own_row(subject, unit, None), value),
        Target::Files => unreachable!("a summary has a column for each"),
    };
    imported.add(row, Some(block), vec![Some(value)], Vec::new());
    imported.note(format!("{}: a summary has three or four digits of each figure; K is a thousand", line.file));
    Ok(())
}

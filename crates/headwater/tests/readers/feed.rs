//! Gives any bytes to each reader of files and messages, and what was understood to what shows it. Nothing may panic; the caller watches
//! time and memory. The folder `fuzz` includes this file for its targets.

use std::fs;
use std::path::Path;

use headwater::import;
use headwater_report::{PageOptions, Style};
use headwater_results::history::exchange;
use headwater_results::parse::{parse_events_prefix, parse_run};
use headwater_results::schema::Run;
use headwater_results::summary::Fold;
use headwater_streams::DeviceOptions;
use headwater_streams::autopush;
use headwater_streams::drivers::sad::SadRequest;
use headwater_streams::tpi::{self, InternetAddress, Primitive};
use headwater_trace_tools::ctf::{self, Metadata, Reader};
use headwater_trace_tools::export::{Choice, chrome, perfetto, text, timeline};
use headwater_trace_tools::stat::Stat;

/// The names of the files of [`files_of`].
pub const TRACE: [&str; 4] = ["metadata", "user-0", "user-1", "kernel-0"];

/// A `run.json`. Whether it is one.
pub fn run_document(bytes: &[u8]) -> bool {
    parse_run(&String::from_utf8_lossy(bytes)).inspect(|run| show(run, bytes)).is_ok()
}

/// A `run.jsonl`.
pub fn run_events(bytes: &[u8]) -> bool {
    let (events, _) = parse_events_prefix(&String::from_utf8_lossy(bytes));
    Fold::run_of(events).inspect(|run| show(run, bytes)).is_ok()
}

/// What the commands print of a run. It takes longer than to read it, so it is done for some of all texts.
fn show(run: &Run, text: &[u8]) {
    if !text.len().is_multiple_of(64) {
        return;
    }
    let style = Style { colour: true, width: 80, unicode: true };
    let _ = (headwater_report::terminal(run, &style), headwater_report::verdict(run));
    let named = [("run".to_owned(), run.clone())];
    for format in headwater_report::export::TABLE {
        format.export(&named, &headwater_report::export::Options { launches: true });
    }
    let page = headwater_report::page(&[("run".to_owned(), run)], &[], &PageOptions::default());
    assert!(page.len() <= headwater_report::PAGE_BYTES_MAX.max(64 << 20), "a page of {} bytes", page.len());
}

/// The output of another program.
pub fn output_of_others(bytes: &[u8]) -> bool {
    let runs = import(bytes).map(|imported| Fold::run_of(imported.events("id", "2026-01-01T00:00:00Z", Vec::new())));
    runs.filter_map(Result::ok).inspect(|run| show(run, bytes)).count() > 0
}

/// Whether one of the programs that are known has such an output.
pub fn is_output(bytes: &[u8]) -> bool {
    import(bytes).next().is_some()
}

/// What is read of the output of each program that is known.
pub fn import(bytes: &[u8]) -> impl Iterator<Item = import::Imported> {
    let file = ("file".to_owned(), String::from_utf8_lossy(bytes).into_owned());
    let import =
        move |format: &import::Format| format.import(std::slice::from_ref(&file), &import::Options::default()).ok();
    import::TABLE.iter().filter_map(import)
}

/// Lines of `headwater-archive`.
pub fn lines_of_archive(bytes: &[u8]) -> bool {
    let (text, mut reader) = (String::from_utf8_lossy(bytes).into_owned(), exchange::Reader::default());
    let mut understood = 0;
    for line in text.lines() {
        understood += usize::from(reader.line(line).is_ok());
        let _ = exchange::read_wanted(line);
    }
    understood > 0 && reader.rows().count() <= understood
}

/// A table of autopush as a user writes it, and a request to the driver `sad`.
pub fn autopush_lines(bytes: &[u8]) -> bool {
    let request = SadRequest::of(bytes).is_ok_and(|request| request.bytes().is_ok());
    let parsed = autopush::parse(&String::from_utf8_lossy(bytes));
    if let Ok(entries) = &parsed {
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        assert_eq!(autopush::parse(&lines).as_ref().ok(), Some(entries), "{lines}");
    }
    request || parsed.is_ok_and(|entries| !entries.is_empty())
}

/// A stored table of autopush, in a directory of devices.
pub fn autopush_table(directory: &Path, bytes: &[u8]) -> bool {
    fs::write(directory.join(".autopush"), bytes).expect("room");
    autopush::list(&DeviceOptions::new().directory(directory)).is_ok()
}

/// The description of a trace.
pub fn metadata(bytes: &[u8]) -> bool {
    let parsed = Metadata::parse(&String::from_utf8_lossy(bytes));
    if let Ok(metadata) = &parsed {
        let again = Metadata::parse(&metadata.to_text());
        assert_eq!(again.as_ref().ok(), Some(metadata), "{}", metadata.to_text());
    }
    parsed.is_ok()
}

/// A trace in a directory, which is repaired at the end. Whether an event was read.
pub fn trace(directory: &Path) -> bool {
    let paths = [directory];
    let choice = Choice { limit: Some(10_000), ..Choice::default() };
    let mut events = 0;
    if let Ok(mut reader) = Reader::open(&paths) {
        events = Stat::of(&mut reader).records();
    }
    let mut out = std::io::sink();
    let _ = text::export(&paths, &choice, &mut out);
    let _ = timeline::export(&paths, &choice, &mut out);
    let _ = chrome::export(&paths, &choice, &mut out);
    let _ = perfetto::export(&paths, &choice, &mut out);
    let (positions, repaired) = (ctf::positions(directory), ctf::repair(directory));
    if repaired.is_ok() && positions.is_ok() {
        assert!(ctf::positions(directory).is_ok(), "what was repaired is sound");
    }
    events > 0
}

/// The files of a trace in one: each with its length before it, two bytes.
pub fn files_of(mut bytes: &[u8], directory: &Path) {
    for name in TRACE {
        let path = directory.join(name);
        let Some((len, rest)) = bytes.split_first_chunk::<2>() else {
            let _ = fs::remove_file(path);
            continue;
        };
        let (file, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
        fs::write(path, file).expect("room");
        bytes = rest;
    }
}

/// The inverse of [`files_of`].
pub fn one_of_files(directory: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for name in TRACE {
        let file = fs::read(directory.join(name)).unwrap_or_default();
        let len = u16::try_from(file.len()).unwrap_or(u16::MAX);
        all.extend(len.to_le_bytes());
        all.extend(&file[..usize::from(len)]);
    }
    all
}

/// A primitive of TPI, an internet address, and a list of options.
pub fn primitive(bytes: &[u8]) -> bool {
    let _ = (InternetAddress::decode(bytes), Primitive::number_of(bytes));
    let mut list = Vec::new();
    for option in tpi::options(bytes).map_while(Result::ok) {
        option.append_to(&mut list);
    }
    let again = tpi::options(&list).filter(Result::is_ok).count();
    assert_eq!(again, tpi::options(bytes).take_while(Result::is_ok).count());
    let decoded = Primitive::decode(bytes);
    if let Ok(primitive) = &decoded {
        let encoded = primitive.encode();
        assert_eq!(Primitive::decode(&encoded).as_ref(), Ok(primitive));
    }
    decoded.is_ok()
}

//! Pages and event descriptions of a kernel (6.18, x86-64), for tests on machines without tracefs: a shell that runs
//! `/bin/true`, and a shell that overwrites a buffer of two pages. The texts are the kernel's own output for the same
//! buffer: thread, time, event and its fields.

use super::format::Format;
use super::plan::Plan;
use crate::schema::EventKind;

pub const HEADER_PAGE: &str = include_str!("fixtures/header_page.txt");
pub const WHOLE: &[u8] = include_bytes!("fixtures/whole.pages");
pub const WHOLE_TEXT: &str = include_str!("fixtures/whole.txt");
pub const OVERWRITTEN: &[u8] = include_bytes!("fixtures/overwritten.page");
pub const OVERWRITTEN_EVENTS: &str = include_str!("fixtures/overwritten.txt");
const FORMATS: &str = include_str!("fixtures/formats.txt");

/// Returns system and description of the events in the pages.
pub fn formats() -> Vec<(String, String)> {
    let parts = FORMATS.split("system: ").filter(|part| !part.is_empty());
    let part = |part: &str| {
        let (system, text) = part.split_once('\n').expect("a line of its own");
        (system.to_owned(), text.trim_end().to_owned())
    };
    parts.map(part).collect()
}

/// Returns the event types in the pages.
pub fn kinds() -> Vec<(EventKind, Plan)> {
    let plan =
        |(system, text): &(String, String)| Plan::new(system, &Format::parse(text).expect("the kernel's own text"));
    formats().iter().map(plan).collect()
}

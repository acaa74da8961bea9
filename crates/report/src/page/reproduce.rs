//! How to reproduce the figures: the command of each run with its seed, and its versions.

use headwater_results::published;
use headwater_results::schema::Run;

use super::Section;
use super::allowance::Allowance;
use super::frame::{Page, date};
use crate::markup::{escape, shorten, whole};
use crate::text::capital;
use crate::{rows, units};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "reproduce", title: "How to reproduce", draw };

/// The most characters of a command.
const COMMAND_MAX: usize = 2000;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let (runs, _) = page.listed();
    let mut html = String::new();
    for (name, run) in runs {
        let heading =
            if page.has_several() { format!("<h3>{}</h3>\n", escape(&shorten(name, 120))) } else { String::new() };
        let text = heading + &of_run(run);
        if allowance.takes_table(text.len()) {
            html += &text;
        }
    }
    Some(html)
}

fn of_run(run: &Run) -> String {
    let header = &run.header;
    if let Some(table) = published::source_of(&header.run_id) {
        return format!("<p>Printed figures: {}.</p>\n", escape(table.citation.trim_end_matches('.')));
    }
    let command = header.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let settings = &header.settings;
    let length = |s: f64| units::duration_ns(s * 1e9);
    // The duration of a launch may be determined by the measured command.
    let time = match settings.time_s {
        0.0 => " per row".to_owned(),
        time_s => format!(" of {} per row after at least {} of warm-up", length(time_s), length(settings.warm_up_s)),
    };
    format!(
        "<pre><code>{}</code></pre>\n<p>Headwater {}, {}. {}{time}, every row once in each block in random order, seed {}. A \
         clock read takes {}.</p>\n",
        whole(&shorten(&command, COMMAND_MAX)),
        escape(&header.headwater_version),
        escape(&date(&header.started_at)),
        capital(&rows::launches(run)),
        settings.seed,
        units::duration_ns(header.clock_read_ns)
    )
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_=./,:+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

//! `headwater show`: prints stored runs.

use std::io::{Write, stdout};

use headwater_report::{ShowOptions, Style};
use headwater_results::schema::{Run, RunStatus};

use super::output::{has_colour, out, raw};
use super::{ShowArguments, runs, status};

pub(super) fn show(arguments: &ShowArguments) -> anyhow::Result<u8> {
    // All runs are read before one is printed, so that a wrong name prints no half result.
    let runs = runs::load(&arguments.runs)?.runs;
    if arguments.json {
        let mut out = out();
        for (_, run) in &runs {
            serde_json::to_writer_pretty(&mut out, run)?;
            writeln!(out)?;
        }
    } else {
        let named: Vec<(String, &Run)> = runs.iter().map(|(name, run)| (name.clone(), run)).collect();
        let options = ShowOptions { lmbench_value: arguments.lmbench_value };
        raw().write_all(headwater_report::terminals(&named, options, &style()).as_bytes())?;
    }
    let is_whole = runs.iter().all(|(_, run)| run.status == RunStatus::Complete);
    Ok(if is_whole { status::OK } else { status::PARTIAL })
}

/// How standard output wants its tables.
pub(super) fn style() -> Style {
    Style {
        colour: has_colour(),
        width: width(),
        unicode: ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty())
            .is_some_and(|value| value.to_uppercase().replace('-', "").contains("UTF8")),
    }
}

/// Whether the terminal knows no colour and cannot move its cursor.
pub(super) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Columns of the terminal at standard output; 100 where it is a file or a pipe.
pub(super) fn width() -> usize {
    const WIDTH_OF_A_FILE: usize = 100;
    rustix::termios::tcgetwinsize(stdout()).map_or(WIDTH_OF_A_FILE, |size| match usize::from(size.ws_col) {
        0 => WIDTH_OF_A_FILE,
        columns => columns,
    })
}

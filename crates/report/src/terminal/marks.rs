//! The legend of the letters in the tables, with the number of rows that carry each.

use headwater_results::flags::Flag;

use super::Section;
use super::page::{Page, letter_count};
use crate::rows;
use crate::style::strong;
use crate::text::{plural, wrap};

/// In the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let flags: Vec<&Flag> = rows::all_measured(run).flat_map(|result| &result.flags).collect();
    let mut kinds = rows::unique(flags.iter().map(|flag| (flag.letter(), meaning(flag))));
    kinds.sort_by_key(|&(letter, _)| letter);
    if kinds.is_empty() {
        return None;
    }
    let total = rows::all_measured(run).count();
    let lines = kinds.into_iter().map(|(letter, meaning)| {
        let count = letter_count(run, letter);
        let rows = if count == total && total > 1 {
            format!("all {total} rows, not marked")
        } else {
            format!("{count} of {}", plural(total, "row"))
        };
        wrap(&format!("{} {meaning} ({rows})", strong(&letter.to_string())), style.columns(), 2)
    });
    Some(format!("{}\n{}", strong("Flags, by the letter behind a figure"), lines.collect::<Vec<_>>().join("\n")))
}

/// What a kind of flag says of a row.
fn meaning(flag: &Flag) -> &'static str {
    match flag {
        Flag::FewLaunches { .. } => "few launches: the interval covers less than 95 %",
        Flag::NotSteady { .. } => "warm-up ended before the figures had levelled off",
        Flag::Autocorrelated { .. } => "launches resemble the one before: the interval is too narrow",
        Flag::Sloped { .. } => "drifts over the run",
        Flag::ChangePoint { .. } => "jumps to another level during the run",
        Flag::TwoModes { .. } => "two typical values: the median is at best one of them",
        Flag::Quantised { .. } => "the step of the clock shows",
        Flag::TooFewSamples { .. } => "few batches in a launch",
        Flag::Stolen { .. } => "the hypervisor took CPU time",
        Flag::ForeignLoad { .. } => "other programs took CPU time",
        Flag::Throttled { .. } => "stopped by the CPU quota",
        Flag::InvoluntarySwitches { .. } => "pushed off its CPU",
        Flag::WideInterval { .. } => "wide interval, not marked because its width stands in the cell",
    }
}

//! The progress of a run on standard error: a bar with what is measured and the time left, drawn between launches only.

use std::io::{IsTerminal, Write, stderr};
use std::time::Instant;

use headwater_gauge::harness::run::Share;
use headwater_gauge::plan::cost::rest_s;
use headwater_gauge::plan::duration;
use headwater_results::foreign::line;
use headwater_results::schema::{Load, Row};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{note, out};

/// Steps of the bar.
const BAR: u64 = 1000;

/// Where a run stands. Without a terminal it says one line per block instead of a bar.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    block: Option<u32>,
    started: Instant,
    /// What was done when this session took the run up, in the unit of the share.
    first: Option<f64>,
    /// The longest that the run may go on, s.
    budget_s: Option<f64>,
}

impl Progress {
    pub(super) fn new(quiet: bool, budget_s: Option<f64>) -> Progress {
        let terminal = stderr().is_terminal() && !super::show::is_dumb();
        let bar = (terminal && !quiet).then(|| {
            let style =
                ProgressStyle::with_template("{bar:16} {percent:>3}%  {wide_msg}").expect("the template is right");
            // Drawn by hand: a ticking thread would run beside what is measured.
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(20)).with_style(style)
        });
        Progress { bar, lines: !terminal && !quiet, block: None, started: Instant::now(), first: None, budget_s }
    }

    /// A launch is about to start.
    pub(super) fn launch(&mut self, row: &Row, block: u32, share: Share) {
        let (done, total) = match share {
            Share::Estimated { done_s, total_s } => (done_s, total_s),
            Share::Counted { done, total } => (done as f64, total as f64),
        };
        let first = *self.first.get_or_insert(done);
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let rest = match share {
            Share::Estimated { .. } => Some(rest_s(elapsed_s, done - first, total - done)),
            Share::Counted { .. } => (done > first).then(|| elapsed_s / (done - first) * (total - done)),
        };
        let rest =
            rest.map(|rest_s| rest_s.min(self.budget_s.map_or(f64::INFINITY, |most_s| (most_s - elapsed_s).max(0.0))));
        // Of launches, or of the time where that ends first.
        let share = (done / total.max(f64::MIN_POSITIVE)).max(self.budget_s.map_or(0.0, |most_s| elapsed_s / most_s));
        let share = share.min(1.0);
        let eta = rest.map_or_else(String::new, |seconds| format!("about {} left", duration::words(seconds)));
        if let Some(bar) = &self.bar {
            bar.set_length(BAR);
            bar.set_message(format!("{eta:20} block {}  {}", block + 1, line(&row.id)));
            bar.set_position((share * BAR as f64) as u64);
        } else if self.lines && self.block != Some(block) {
            note!("block {}: {:.0} % done after {} {eta}", block + 1, 100.0 * share, duration::words(elapsed_s));
        }
        self.block = Some(block);
    }

    /// Says something beside the bar.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note!("{text}")),
            None if self.lines => note!("{text}"),
            None => {}
        }
    }

    /// Says which other processes of this tool measure at the moment.
    pub(super) fn say_others(&self, load: &Load) {
        if let Some(others) = load.others() {
            self.say(&format!(
                "{others}: both disturb each other. Interrupt this one, and --resume it when the other has ended."
            ));
        }
    }

    /// Prints a line on standard output, beside the bar.
    ///
    /// # Errors
    /// Errors of standard output.
    pub(super) fn print(&self, text: &str) -> std::io::Result<()> {
        let write = || writeln!(out(), "{text}");
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! Presents runs and comparisons: sentences, tables, charts and numbers with units. Called by the command, which prints
//! or writes them.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no environment, no `unsafe`. The width of the
//! terminal, colour and the character set are arguments ([`Style`]). Nothing is estimated here: that is `results`.
#![forbid(unsafe_code)]

pub mod chart;
mod comparison;
pub mod export;
mod fixed;
mod grid;
mod history;
mod judge;
mod markup;
mod meaning;
mod noise;
mod operations;
mod overhead;
mod page;
mod perftest;
mod published;
mod rows;
mod style;
mod terminal;
mod text;
pub mod units;
mod uses;
mod verdict;

pub use comparison::{Compared, comparison, comparison_csv};
pub use history::{HistoryReport, history};
pub use noise::noise;
pub use page::{PAGE_BYTES_MAX, PageOptions, TraceLink, comparison_page, history_page, is_page, page};
pub use perftest::{perftest, perftest_interval};
pub use published::{published_claims, published_list, published_markdown};
pub use style::Style;
pub use terminal::{ShowOptions, terminal, terminals};
pub use text::{command_line, plural};
pub use verdict::verdict;

#[cfg(test)]
mod testing;

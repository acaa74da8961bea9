//! The bytes that a page may still use. Sections ask before they write optional parts.

/// Bytes reserved for the frame between the sections.
const RESERVE: usize = 8_000;

/// Minimum bytes for static charts and their tables if the data needs all the rest.
const FIGURES_MIN: usize = 560_000;

/// Bytes for tables: rows, comparisons, flags, environments.
const TABLES: usize = 380_000;

/// The remaining bytes.
#[derive(Debug)]
pub(super) struct Allowance {
    total: usize,
    figures: usize,
    tables: usize,
}

impl Allowance {
    /// Returns the allowance of a page with `total` bytes besides script and style, and with that many lines of data.
    pub fn new(total: usize, lines: usize) -> Allowance {
        let total = total.saturating_sub(RESERVE);
        // A line takes about 120 bytes plain and 20 compressed. The payload later uses what actually remains.
        let data = (lines * 120).min(300_000 + lines * 20);
        let figures = total.saturating_sub(TABLES).saturating_sub(data).max(FIGURES_MIN);
        Allowance { total, figures, tables: TABLES }
    }

    /// Takes the bytes of a figure, and returns true, if they are available.
    pub fn takes_figure(&mut self, bytes: usize) -> bool {
        take(&mut self.figures, bytes)
    }

    /// Takes the bytes of a part of a table, and returns true, if they are available.
    pub fn takes_table(&mut self, bytes: usize) -> bool {
        take(&mut self.tables, bytes)
    }

    /// Returns the first lines of a table that fit, and their number.
    pub fn take_lines(&mut self, lines: impl Iterator<Item = String>) -> (String, usize) {
        let (mut text, mut count) = (String::new(), 0);
        for line in lines.take_while(|line| take(&mut self.tables, line.len())) {
            text += &line;
            count += 1;
        }
        (text, count)
    }

    /// Returns what remains of the whole after `bytes` have been written.
    pub fn left_of(&self, bytes: usize) -> usize {
        self.total.saturating_sub(bytes)
    }
}

fn take(left: &mut usize, bytes: usize) -> bool {
    match left.checked_sub(bytes) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_up_to_the_first_without_room() {
        let mut allowance = Allowance { total: 100, figures: 0, tables: 10 };
        let lines = ["1234", "5678", "9012", "3"].map(str::to_owned);
        assert_eq!(allowance.take_lines(lines.into_iter()), ("12345678".to_owned(), 2));
        assert!(allowance.takes_table(2) && !allowance.takes_table(1), "what had no room took none");
    }
}

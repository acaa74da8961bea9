//! How many bytes the page may still take. Sections ask before they write what they could do without.

/// Bytes of the skeleton between the sections.
const RESERVE: usize = 8_000;

/// Bytes of still charts and their tables where the data wants all the rest.
const FIGURES_MIN: usize = 560_000;

/// Bytes of tables in words and figures: rows, comparisons, flags, environments.
const TABLES: usize = 380_000;

/// What is left.
#[derive(Debug)]
pub(super) struct Allowance {
    total: usize,
    figures: usize,
    tables: usize,
}

impl Allowance {
    /// An allowance for a page whose script and style leave `total` bytes, and whose data has so many lines.
    pub fn new(total: usize, lines: usize) -> Allowance {
        let total = total.saturating_sub(RESERVE);
        // A line takes about 120 bytes plain and 20 deflated; the payload keeps to what is really left.
        let data = (lines * 120).min(300_000 + lines * 20);
        let figures = total.saturating_sub(TABLES).saturating_sub(data).max(FIGURES_MIN);
        Allowance { total, figures, tables: TABLES }
    }

    /// Whether a figure of so many bytes still has room; if so, it is taken.
    pub fn takes_figure(&mut self, bytes: usize) -> bool {
        take(&mut self.figures, bytes)
    }

    /// Whether a piece of a table of so many bytes still has room; if so, it is taken.
    pub fn takes_table(&mut self, bytes: usize) -> bool {
        take(&mut self.tables, bytes)
    }

    /// The first of the lines of a table, as many as still have room, and how many they are.
    pub fn take_lines(&mut self, lines: impl Iterator<Item = String>) -> (String, usize) {
        let (mut text, mut count) = (String::new(), 0);
        for line in lines.take_while(|line| take(&mut self.tables, line.len())) {
            text += &line;
            count += 1;
        }
        (text, count)
    }

    /// What remains of the whole after `bytes` have been written.
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

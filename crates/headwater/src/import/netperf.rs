//! Imports netperf's UDP_STREAM, UDP_RR, TCP_STREAM and TCP_RR over loopback, in every form in which netperf 2.7 prints
//! them: the classic text, with or without banner (`-P 0`), CPU time (`-c`, `-C`) and detail (`-v 2`); and the output
//! of the omni tests as comma-separated values (`-o`), as text (`-O`) and as keys with values (`-k`).
//!
//! Written from its manual and its output. This file walks over the lines; [`test`] identifies the test of a banner,
//! [`classic`] parses the numbers of the classic text, [`record`] parses named values, and [`rows`] makes rows. Facts
//! that a result does not contain (without a banner, or without the selector) are required as `--test` and `--columns`,
//! and never guessed.

use super::{File, Format, ImportError, Imported, LeftOut, Line, Options, numbered};
use record::{Record, columns_named};
use test::Test;
use units::Units;

mod classic;
mod record;
mod rows;
mod test;
mod units;

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "netperf",
    summary: "netperf's UDP_STREAM, UDP_RR, TCP_STREAM and TCP_RR over loopback, as text or by -o, -O or -k",
    parse,
};

fn parse(files: &[File], options: &Options, imported: &mut Imported) -> Result<(), ImportError> {
    let told = options.test.as_deref().map(Test::told).transpose().map_err(ImportError::usage)?;
    let columns = options.columns.as_deref().map(columns_named).transpose().map_err(ImportError::usage)?;
    for file in files {
        let lines: Vec<Line> = numbered(file).collect();
        let mut reader = Reader {
            told: told.clone(),
            columns: columns.clone(),
            test: told.clone().unwrap_or_default(),
            units: Units::default(),
            head: columns.clone(),
            record: None,
            imported,
        };
        let mut at = 0;
        while at < lines.len() {
            at += reader.step(&lines[at..]).unwrap_or_else(|left| {
                reader.imported.left_out.push(left);
                1
            });
        }
        reader.finish_record();
    }
    Ok(())
}

struct Reader<'a> {
    /// The test of `--test`.
    told: Option<Test>,
    /// The selectors of `--columns`.
    columns: Option<Vec<String>>,
    /// The test of the last banner, or else `told`.
    test: Test,
    /// The units in the head of the classic text.
    units: Units,
    /// The selectors in the head of comma-separated lines.
    head: Option<Vec<String>>,
    /// An incomplete record of named values: keys, or a block of human-readable output.
    record: Option<Record>,
    imported: &'a mut Imported,
}

impl Reader<'_> {
    /// Parses the first of `lines` and those that belong to it. Returns their number.
    fn step(&mut self, lines: &[Line]) -> Result<usize, LeftOut> {
        let line = &lines[0];
        let text = line.text.trim();
        if text.is_empty() || text.starts_with("Interim result:") {
            return Ok(1);
        }
        if let Some(test) = Test::of_banner(text) {
            self.finish_record();
            (self.test, self.units, self.head) = (test, Units::behind_banner(), None);
            return Ok(1);
        }
        if let Some(warning) = text.strip_prefix("!!!") {
            if warning.contains("Desired confidence") {
                self.imported.note(format!("{}:{}: netperf did not reach its confidence", line.file, line.number));
            }
            return Ok(1);
        }
        if let Some((key, value)) = record::key_value(text) {
            if self.record.as_ref().is_some_and(|record| !record.is_keys() || record.has(key)) {
                self.finish_record();
            }
            self.record.get_or_insert_with(|| Record::keys(line)).insert(key, value);
            return Ok(1);
        }
        if let Some(skipped) = classic::detail(lines) {
            return Ok(skipped);
        }
        if classic::is_head(text) {
            self.finish_record();
            self.units.read(line);
            self.head = None;
            return Ok(1);
        }
        if let Some(columns) = record::comma_head(text) {
            self.finish_record();
            self.head = Some(columns);
            return Ok(1);
        }
        if let Some((columns, values, used)) = record::block(lines) {
            // A selection of several lines is printed as several blocks.
            if self.record.as_ref().is_some_and(|record| record.is_keys() || columns.iter().any(|key| record.has(key)))
            {
                self.finish_record();
            }
            let record = self.record.get_or_insert_with(|| Record::block(line));
            columns.iter().zip(&values).for_each(|(key, value)| record.insert(key, value));
            return Ok(used);
        }
        self.values(lines)
    }

    /// Parses a line of values: below a head of columns, of the classic text, or without a head.
    fn values(&mut self, lines: &[Line]) -> Result<usize, LeftOut> {
        let line = &lines[0];
        if let Some(columns) = self.head.clone() {
            let values = record::values(&line.text);
            if values.len() < columns.len() {
                return Err(line.error(format!(
                    "{} fields, fewer than the {} of the head; the file is cut off: run netperf again",
                    values.len(),
                    columns.len()
                )));
            }
            return self.add_values(line, &columns, &values).map(|()| 1);
        }
        let values = record::values(&line.text);
        if let Some(columns) = record::columns_guessed(&values) {
            return self.add_values(line, &columns, &values).map(|()| 1);
        }
        if !classic::begins_with_number(&line.text) {
            self.imported.leave_stray(line, "no result of netperf");
            return Ok(1);
        }
        self.finish_record();
        classic::result(lines, &self.test, &self.units, self.imported)
    }

    fn add_values(&mut self, line: &Line, columns: &[String], values: &[String]) -> Result<(), LeftOut> {
        let mut record = Record::keys(line);
        columns.iter().zip(values).for_each(|(key, value)| record.insert(key, value));
        record.add(&self.test, self.imported)
    }

    /// Adds the collected record as one result; the following lines belong to the next.
    fn finish_record(&mut self) {
        if let Some(record) = self.record.take()
            && let Err(left) = record.add(&self.test, self.imported)
        {
            self.imported.left_out.push(left);
        }
        if self.test.is_unknown() {
            self.test = self.told.clone().unwrap_or_default();
        }
        if self.head.is_none() {
            self.head.clone_from(&self.columns);
        }
    }
}

#[cfg(test)]
mod tests;

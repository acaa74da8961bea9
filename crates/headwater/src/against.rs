//! `run --against RUN`: measures the rows of a stored run again, with the program that measured it and with this one.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{anyhow, bail};
use headwater_gauge::harness::program::Program;
use headwater_gauge::plan::variants::{Variant, of_row};
use headwater_gauge::plan::{RunRequest, filter};
use headwater_gauge::{facilities, patterns};
use headwater_os_tools::fingerprint::fingerprint;
use headwater_os_tools::own_file::replaceable;
use headwater_results::schema::{Row, Run, Standing, transport_definition};

use crate::{sources, stored_commands};

/// Launches of a comparison if the command line does not set them.
const LAUNCHES: u32 = 12;

/// The name of the variant for the program that measured the stored run.
const BEFORE: &str = "before";

/// The name of the variant for this program.
const NOW: &str = "now";

/// A stored run that is to be measured again.
#[derive(Debug)]
pub struct Against {
    run: Run,
    /// The program that measured the run.
    program: String,
    /// Rows of the run that cannot be measured again, by reason.
    left_out: BTreeMap<String, Vec<Row>>,
    /// What of the run could not be read.
    torn: Vec<String>,
}

impl Against {
    /// Reads the run and opens its program. `named` are commands that the user has named again, and `is_with_transports` says
    /// that the run's own external transports are started.
    ///
    /// # Errors
    /// One line with the remedy: the name stands for several runs or for none, the program is missing, was replaced or may
    /// not be started, or this program measures no row of the run by the same definition.
    pub fn of(name: &str, named: &[String], is_with_transports: bool) -> anyhow::Result<Against> {
        let sources::Loaded { mut runs, torn, foreign, .. } = sources::load_all(&[name])?;
        let (_, mut run) = match runs.len() {
            1 => runs.remove(0),
            count => bail!("--against {name}: these are {count} runs; name one"),
        };
        let remedy = "measure with --variant before=PATH --variant now=, PATH being a headwater of that time";
        let Some(program) = run.header.program.clone() else {
            bail!("--against {name}: it does not say which program measured it; {remedy}");
        };
        // If this program measured the run, the run can be repeated although the file has moved.
        let own = Program::own().and_then(|own| own.identity().map_err(|error| error.to_string()));
        let is_own = own.is_ok_and(|own| own.fingerprint == program.fingerprint);
        let mut commands = if is_own { Vec::new() } else { vec![program.path.clone()] };
        if is_with_transports {
            commands.extend_from_slice(&run.header.settings.transport_commands);
        }
        // Before the path is opened: it may lead anywhere.
        stored_commands::permit(&format!("--against {name}"), foreign.as_deref(), &commands, named)?;
        if !is_own {
            let why =
                if named.contains(&program.path) { None } else { replaceable(Path::new(&program.path)).ok().flatten() };
            if let Some(why) = why {
                bail!("--against {name}: another user may have replaced the program: {why}; {remedy}");
            }
            let found = fingerprint(Path::new(&program.path))
                .map_err(|error| anyhow!("--against {name}: {}: {error}; {remedy}", program.path))?;
            if found != program.fingerprint {
                bail!("--against {name}: {} was built again since; {remedy}", program.path);
            }
        }
        let program = if is_own { String::new() } else { program.path };
        let left_out = leave_out(&mut run);
        if let (true, Some(reason)) = (run.results.is_empty(), left_out.keys().next()) {
            bail!("--against {name}: no row of it can be measured again: {reason}; {remedy}");
        }
        Ok(Against { run, program, left_out, torn })
    }

    /// Returns one line for each reason for which rows are not measured again, and what of the run could not be read.
    pub fn warnings(&self) -> Vec<String> {
        const NAMED: usize = 3;
        let line = |(reason, rows): (&String, &Vec<Row>)| {
            let more = if rows.len() > NAMED { format!(" and {} more", rows.len() - NAMED) } else { String::new() };
            let named: Vec<&str> = rows.iter().take(NAMED).map(|row| row.id.as_str()).collect();
            format!("not measured again: {}{more}: {reason}", named.join(", "))
        };
        self.torn.iter().cloned().chain(self.left_out.iter().map(line)).collect()
    }

    /// Returns the rows that are not measured again under both variants, with the reason: the new run has them as skipped, so that
    /// no comparison takes it for complete. Only those that `filters` keep.
    pub fn skipped(&self, filters: &[String]) -> Vec<(Row, String)> {
        let variants = [BEFORE, NOW].map(|name| Variant { name: name.to_owned(), ..Variant::default() });
        let all = self.left_out.iter().flat_map(|(reason, rows)| rows.iter().map(move |row| (row, reason)));
        let kept = all.filter(|(row, _)| filter::keeps(filters, row));
        kept.flat_map(|(row, reason)| variants.each_ref().map(|variant| (of_row(row, variant), reason.clone())))
            .collect()
    }

    /// Fills the options that the user left open with the rows and settings of the run.
    pub fn wishes(self, wishes: RunRequest) -> RunRequest {
        let settings = self.run.header.settings;
        let rows = self.run.results.into_iter().map(|result| result.row);
        let before = Variant {
            name: BEFORE.to_owned(),
            program: Some(self.program).filter(|path| !path.is_empty()),
            ..Variant::default()
        };
        let now = Variant { name: NOW.to_owned(), ..Variant::default() };
        let given = !wishes.transport_commands.is_empty();
        RunRequest {
            rows: Some(rows.map(without_variant).collect()),
            variants: vec![before.to_string(), now.to_string()],
            placements: settings.placements,
            time_s: wishes.time_s.or(Some(settings.time_s)),
            warm_up_s: wishes.warm_up_s.or(Some(settings.warm_up_s)),
            launches: wishes.launches.or(Some(settings.launches.max(LAUNCHES))),
            transport_commands: if given { wishes.transport_commands } else { settings.transport_commands },
            ..wishes
        }
    }
}

/// Removes the rows of the run that this program does not measure, or measures by another definition. Returns them by reason,
/// each row of several variants once.
fn leave_out(run: &mut Run) -> BTreeMap<String, Vec<Row>> {
    let mut left_out: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    run.results.retain(|result| match obstacle(&result.row) {
        None => true,
        Some(reason) => {
            let row = without_variant(result.row.clone());
            let rows = left_out.entry(reason).or_default();
            if rows.iter().all(|other| other.id != row.id) {
                rows.push(row);
            }
            false
        }
    });
    left_out
}

/// Returns why the row cannot be measured again. Figures are comparable only if their definitions are the same.
/// External programs have no patterns of their own; they use those of this program.
fn obstacle(row: &Row) -> Option<String> {
    let pattern = patterns::find(&row.pattern).map(|pattern| match row.standing {
        Standing::External => pattern.info.definition_version,
        _ => transport_definition(pattern.info.definition_version, &row.subject),
    });
    let facility = facilities::find(&row.pattern).map(|facility| (facility.info.definition_version)(&row.subject));
    let (name, old) = (&row.pattern, row.definition_version);
    match pattern.or(facility) {
        None => Some(format!("this program has no pattern or facility {name}")),
        Some(now) if now != old => {
            Some(format!("the run has {name} by definition {old}, this program by definition {now}"))
        }
        Some(_) => None,
    }
}

/// Returns each row of a run once, also of a run with variants.
fn without_variant(mut row: Row) -> Row {
    if let Some(variant) = row.variant.take()
        && let Some(id) = row.id.strip_suffix(&format!("/{variant}"))
    {
        row.id = id.to_owned();
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_another_definition_are_left_out_with_the_reason() {
        let (_, mut run) = sources::load("published:pipes/fc6").expect("it is compiled in").remove(0);
        let all = run.results.len();
        run.results[0].row.definition_version += 1;
        run.results[1].row.pattern = "telepathy".to_owned();
        let ids = [0, 1].map(|at: usize| run.results[at].row.id.clone());
        let newer = run.results[0].row.definition_version;
        let left_out = leave_out(&mut run);
        assert_eq!(run.results.len(), all - 2);
        let warnings = Against { run, program: String::new(), left_out, torn: Vec::new() }.warnings();
        let [definition, pattern] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(
            definition.contains(&ids[0]) && definition.contains(&format!("by definition {newer}, this")),
            "{definition}"
        );
        assert!(pattern.contains(&ids[1]) && pattern.contains("telepathy"), "{pattern}");
    }
}

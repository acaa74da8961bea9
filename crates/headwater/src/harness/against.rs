//! `run --against RUN`: what RUN measured, measured again by the program that did and by this one.

use anyhow::{anyhow, bail};
use headwater_results::schema::{Row, Run};

use super::program::{Program, fingerprint};
use crate::plan::Wishes;
use crate::plan::variants::Variant;
use crate::{facilities, patterns, sources};

/// Launches of a comparison unless fewer or more are asked for.
const LAUNCHES: u32 = 12;

/// The variant of the program that measured the run.
const BEFORE: &str = "before";

/// The variant of this program.
const NOW: &str = "now";

/// A run that is measured again.
#[derive(Debug)]
pub struct Against {
    run: Run,
    /// The program that measured it.
    program: String,
}

impl Against {
    /// Reads the run and finds its program.
    ///
    /// # Errors
    /// In one line with the remedy: several runs, no run, a program that is gone or has been replaced.
    pub fn of(name: &str) -> anyhow::Result<Against> {
        let mut runs = sources::load(name)?;
        let (_, run) = match runs.len() {
            1 => runs.remove(0),
            count => bail!("--against {name}: these are {count} runs; name one"),
        };
        let remedy = "measure with --variant before=PATH --variant now=, PATH being a headwater of that time";
        let Some(program) = run.header.program.clone() else {
            bail!("--against {name}: it does not say which program measured it; {remedy}");
        };
        let path = std::path::Path::new(&program.path);
        let found =
            fingerprint(path).map_err(|error| anyhow!("--against {name}: {}: {error}; {remedy}", program.path))?;
        // A run by this very program can be repeated although its file moved.
        let own = Program::own().and_then(|own| own.identity().map_err(|error| error.to_string()));
        let is_own = own.is_ok_and(|own| own.fingerprint == program.fingerprint);
        if found != program.fingerprint && !is_own {
            bail!("--against {name}: {} was built again since; {remedy}", program.path);
        }
        let program = if is_own { String::new() } else { program.path };
        Ok(Against { run, program })
    }

    /// The wishes with the run's rows and settings where they say nothing.
    pub fn wishes(self, wishes: Wishes) -> Wishes {
        let settings = self.run.header.settings;
        let rows = self.run.results.into_iter().map(|result| result.row);
        let before = Variant {
            name: BEFORE.to_owned(),
            program: Some(self.program).filter(|path| !path.is_empty()),
            ..Variant::default()
        };
        let now = Variant { name: NOW.to_owned(), ..Variant::default() };
        let given = !wishes.transport_commands.is_empty();
        Wishes {
            rows: Some(rows.filter(same_definition).map(without_variant).collect()),
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

/// Whether this program measures the row by the same definition. A pattern that it does not know is an external's affair.
fn same_definition(row: &Row) -> bool {
    let pattern = patterns::find(&row.pattern).map(|pattern| pattern.info.definition_version);
    let facility = facilities::find(&row.pattern).map(|facility| facility.info.definition_version);
    pattern.or(facility) == Some(row.definition_version)
}

/// A run with variants is taken up by its rows, each once.
fn without_variant(mut row: Row) -> Row {
    if let Some(variant) = row.variant.take()
        && let Some(id) = row.id.strip_suffix(&format!("/{variant}"))
    {
        row.id = id.to_owned();
    }
    row
}

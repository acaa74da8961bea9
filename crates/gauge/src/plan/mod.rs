//! The plan: turns the user's request into rows, settings and an order.

use std::fmt;

use headwater_results::random::Random;
use headwater_results::schema::{Placement, Row, RunHeader, Settings, Standing};

use crate::harness::external;
use crate::harness::protocol::Description;
use crate::suites::{self, Axes, Defaults, Suite};
use selection::Selection;
use sizes::Sizes;
use variants::Variant;

pub mod cost;
pub mod duration;
pub mod filter;
pub mod perftest;
pub mod rows;
pub mod selection;
pub mod sizes;
pub mod suggest;
pub mod undecided;
mod unmatched;
pub mod variants;

/// The user's request. The suite decides everything that is absent.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// Suites and filters, as the user typed them.
    pub selection: Vec<String>,
    /// Message sizes.
    pub sizes: Option<Sizes>,
    /// Placements.
    pub placements: Vec<Placement>,
    /// Measured time per launch, s.
    pub time_s: Option<f64>,
    /// Minimum warm-up per launch, s.
    pub warm_up_s: Option<f64>,
    /// Launches per row.
    pub launches: Option<u32>,
    /// Seed of the random order.
    pub seed: Option<u64>,
    /// The time limit of the run, s.
    pub budget_s: Option<f64>,
    /// Command lines of external transports.
    pub transport_commands: Vec<String>,
    /// The variants under which every row is measured; if empty, this program alone.
    pub variants: Vec<String>,
    /// The rows to select from, instead of those of the suites.
    pub rows: Option<Vec<Row>>,
}

/// The rows of one pattern, size, number of messages and placement: a column of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The pattern.
    pub pattern: String,
    /// Bytes per message.
    pub size_bytes: Option<u64>,
    /// Messages of a launch.
    pub messages: u64,
    /// The placement.
    pub placement: Placement,
}

impl Column {
    /// Returns the column of a row; `None` if the row's time decides how many messages it sends.
    fn of(row: &Row) -> Option<Column> {
        let Row { pattern, size_bytes, placement, .. } = row;
        row.messages.map(|messages| Column {
            pattern: pattern.clone(),
            size_bytes: *size_bytes,
            messages,
            placement: *placement,
        })
    }
}

/// A part of the request that does not exist or is not possible.
#[derive(Debug)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

/// A row with the command that is needed to run it.
#[derive(Clone, Debug)]
pub struct PlannedRow {
    /// The row.
    pub row: Row,
    /// The command line of its external program, if it has one.
    pub command: Option<String>,
}

/// The rows of a run and the settings with which they are measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rows, in the order of the tables.
    pub rows: Vec<PlannedRow>,
    /// The settings.
    pub settings: Settings,
    /// The variants. If there are any, every row has one of them.
    pub variants: Vec<Variant>,
    /// Repetitions per launch for a row whose definition asks for the mean of 100 runs. The number stays the same when
    /// launches are added later.
    pub repetitions: u32,
    /// The columns that the budget does not hold, the most expensive first: `matrix 4k x 100000, two-cpus`.
    pub left_out: Vec<Column>,
}

/// The minimum timed part of a launch that a budget must leave, s.
const TIME_S_MIN: f64 = 0.01;

impl Plan {
    /// Makes a plan for a machine with `cpus` CPUs.
    ///
    /// # Errors
    /// [`PlanError`]: one line, with the nearest names for a name that does not exist.
    pub fn new(request: &RunRequest, cpus: usize, seed: impl FnOnce() -> u64) -> Result<Plan, PlanError> {
        let externals = describe_externals(&request.transport_commands)?;
        let descriptions: Vec<Description> = externals.iter().map(|(_, description)| description.clone()).collect();
        let Selection { suites, filters } = selected(request, &descriptions)?;
        // Several suites in one run share the settings of the first one.
        let defaults = suites[0].defaults;
        let placements = placements(request, &defaults, cpus)?;
        let axes = Axes { sizes: request.sizes.as_ref(), placements: &placements, externals: &descriptions };
        let rows = match &request.rows {
            Some(rows) => filtered(unique(rows), &filters, |filter| unmatched::unknown(filter, "the run", rows))?,
            None => chosen_rows(&suites, &filters, &axes, cpus)?,
        };
        let variants = variants::parse_all(&request.variants)?;
        let rows: Vec<Row> = match &variants[..] {
            [] => rows,
            variants => {
                rows.iter().flat_map(|row| variants.iter().map(|variant| variants::of_row(row, variant))).collect()
            }
        };
        let rows = rows.into_iter().map(|row| planned(row, &externals)).collect();
        let mut plan = Plan {
            rows,
            settings: Settings {
                selection: request.selection.clone(),
                launches: request.launches.unwrap_or(defaults.launches),
                time_s: request.time_s.unwrap_or(defaults.time_s),
                warm_up_s: request.warm_up_s.unwrap_or(defaults.warm_up_s),
                budget_s: request.budget_s.or(defaults.budget_s),
                seed: request.seed.unwrap_or_else(seed),
                placements,
                transport_commands: request.transport_commands.clone(),
                variants: variants.iter().map(Variant::to_string).collect(),
            },
            variants,
            repetitions: 1,
            left_out: Vec::new(),
        };
        plan.repetitions = repetitions(plan.settings.launches);
        if request.budget_s.is_some() && request.time_s.is_none() && request.launches.is_none() {
            plan.fit_budget();
        }
        Ok(plan)
    }

    /// Makes the plan of a stored run that is continued.
    ///
    /// # Errors
    /// [`PlanError`] if an external program of the run cannot be started any more.
    pub fn of_header(header: &RunHeader) -> Result<Plan, PlanError> {
        let externals = describe_externals(&header.settings.transport_commands)?;
        let rows = header.rows.iter().map(|row| planned(row.clone(), &externals)).collect();
        let variants = variants::parse_all(&header.settings.variants)?;
        let repetitions = repetitions(header.settings.launches);
        Ok(Plan { rows, settings: header.settings.clone(), variants, repetitions, left_out: Vec::new() })
    }

    /// Returns the estimated duration of the whole run, s.
    pub fn estimate_s(&self) -> f64 {
        let launches = f64::from(self.settings.launches);
        self.rows.iter().map(|planned| self.launch_estimate_s(&planned.row)).sum::<f64>() * launches
    }

    /// Returns the estimated duration of one launch of a row, s, with the repetitions that are usual.
    pub fn launch_estimate_s(&self, row: &Row) -> f64 {
        cost::launch_s(row, &self.settings, self.repetitions)
    }

    /// Shortens the launches, then reduces their number, so that the run fits its budget: to 3, and of variants to no fewer than
    /// can show a difference.
    fn fit_budget(&mut self) {
        let Some(budget_s) = self.settings.budget_s else { return };
        let too_long = |plan: &Plan| plan.estimate_s() > budget_s;
        while too_long(self) && self.settings.time_s * 0.8 >= TIME_S_MIN {
            self.settings.time_s *= 0.8;
            self.settings.warm_up_s = self.settings.warm_up_s.min(self.settings.time_s / 3.0);
        }
        let fewest = self.launches_needed().max(3);
        while too_long(self) && self.settings.launches > fewest {
            self.settings.launches -= 1;
            self.repetitions = repetitions(self.settings.launches);
        }
        self.leave_out_columns(budget_s);
    }

    /// Leaves out whole columns, the most expensive first, until the rest fits the budget: the rows of one pattern, size,
    /// count and placement, so that whatever is measured can be compared. The last column stays.
    ///
    /// Only rows with a fixed number of messages cannot be shortened; the others keep their turns.
    fn leave_out_columns(&mut self, budget_s: f64) {
        while self.estimate_s() > budget_s {
            let mut costs = std::collections::BTreeMap::new();
            for row in self.rows.iter().map(|planned| &planned.row) {
                if let Some(column) = Column::of(row) {
                    *costs.entry(column).or_insert(0.0) += self.launch_estimate_s(row);
                }
            }
            let dearest = costs.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let Some((dearest, _)) = dearest.filter(|_| costs.len() > 1) else { return };
            let dearest = dearest.clone();
            self.rows.retain(|planned| Column::of(&planned.row).as_ref() != Some(&dearest));
            self.left_out.push(dearest);
        }
    }

    /// Returns the order of block `block`: a permutation of the rows that depends only on the seed and the block, so
    /// that a resumed run continues with the same order.
    pub fn order(&self, block: u32) -> Vec<usize> {
        order(self.rows.len(), self.settings.seed, block)
    }
}

/// Returns the order of `rows` rows in block `block` of a run with this seed.
pub fn order(rows: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut random = Random::new(seed ^ u64::from(block).wrapping_mul(0xD134_2543_DE82_EF95));
    let mut order: Vec<usize> = (0..rows).collect();
    random.shuffle(&mut order);
    order
}

/// Returns the repetitions per launch for a row whose definition asks for the mean of 100 runs.
fn repetitions(launches: u32) -> u32 {
    const RUNS: u32 = 100;
    RUNS.div_ceil(launches.max(1))
}

fn planned(row: Row, externals: &[(String, Description)]) -> PlannedRow {
    let command = externals
        .iter()
        .find(|(_, description)| row.standing == Standing::External && description.name == row.subject)
        .map(|(command, _)| command.clone());
    PlannedRow { row, command }
}

fn describe_externals(commands: &[String]) -> Result<Vec<(String, Description)>, PlanError> {
    let mut externals: Vec<(String, Description)> = Vec::new();
    for command in commands {
        let description = external::describe(command).map_err(PlanError)?;
        let taken = crate::transports::find(&description.name).is_some()
            || externals.iter().any(|(_, other)| other.name == description.name);
        if taken {
            return Err(PlanError(format!(
                "--transport-cmd {command:?}: there is a transport {} already; give the program another name",
                description.name
            )));
        }
        externals.push((command.clone(), description));
    }
    Ok(externals)
}

fn placements(request: &RunRequest, defaults: &Defaults, cpus: usize) -> Result<Vec<Placement>, PlanError> {
    if request.placements.contains(&Placement::TwoCpus) && cpus < 2 {
        return Err(PlanError(format!(
            "--placement two-cpus: this process may use {cpus} CPU only; choose same-cpu, or widen its affinity"
        )));
    }
    if !request.placements.is_empty() {
        return Ok(request.placements.clone());
    }
    if cpus < 2 {
        return Ok(vec![Placement::SameCpu]);
    }
    Ok(defaults.placements.to_vec())
}

/// Reads the selection. Of a stored run's rows every word is a filter.
fn selected<'a>(request: &'a RunRequest, externals: &[Description]) -> Result<Selection<'a>, PlanError> {
    if request.rows.is_some() {
        let filters = request.selection.iter().map(String::as_str).collect();
        return Ok(Selection { suites: vec![suites::WHOLE], filters });
    }
    selection::read(&request.selection, |suites, filter| {
        filter::unmatched(&[filter], rows_of(suites, &every_placement(externals)).iter()).is_none()
    })
}

/// The axes of a machine with many CPUs, to find what a filter could name.
fn every_placement(externals: &[Description]) -> Axes<'_> {
    Axes { sizes: None, placements: &[Placement::TwoCpus, Placement::Free], externals }
}

fn chosen_rows(
    suites: &[&'static Suite],
    filters: &[&str],
    axes: &Axes<'_>,
    cpus: usize,
) -> Result<Vec<Row>, PlanError> {
    let rows = rows_of(suites, axes);
    filtered(rows, filters, |filter| unmatched::explained(filter, suites, axes, cpus))
}

/// Returns the rows of several suites, each once.
fn rows_of(suites: &[&Suite], axes: &Axes<'_>) -> Vec<Row> {
    let rows: Vec<Row> = suites.iter().flat_map(|suite| (suite.rows)(axes)).collect();
    unique(&rows)
}

fn unique(rows: &[Row]) -> Vec<Row> {
    let mut seen = std::collections::BTreeSet::new();
    rows.iter().filter(|row| seen.insert(row.id.as_str())).cloned().collect()
}

/// Returns the rows that match the filters; all rows if there is no filter. `explain` makes the error for a filter that
/// matches none.
fn filtered(
    mut rows: Vec<Row>,
    filters: &[&str],
    explain: impl FnOnce(&str) -> PlanError,
) -> Result<Vec<Row>, PlanError> {
    if let Some(filter) = filter::unmatched(filters, rows.iter()) {
        return Err(explain(filter));
    }
    rows.retain(|row| filter::keeps(filters, row));
    if rows.is_empty() {
        return Err(PlanError("no row is left: no transport takes messages of these sizes in this suite".into()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;

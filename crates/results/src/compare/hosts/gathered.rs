//! The launches of many runs by row, level and host. Takes one run after the other, so that a fleet's runs need not be in
//! memory together: of a row it keeps its own figure's launches.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Hosts, Lacking, OneSided};
use crate::compare::environment::{Difference, differing, facts};
use crate::compare::factor::{Factor, block_of};
use crate::compare::{LeftOut, LeftOutKind};
use crate::schema::{Row, RowResult, Run};
use crate::sorting::{Arrange, natural};

/// What hosts are told apart by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The machine's id, whatever the host is called; the host name where a run has no such id.
    #[default]
    Machine,
    /// The host name.
    Name,
    /// A label of the runs: where many containers or nodes share one machine id, or have a new name in every run.
    Label(String),
}

impl By {
    /// Returns the property of that name: `host`, `name`, or else a label.
    pub fn named(name: &str) -> By {
        match name {
            "host" => By::Machine,
            "name" => By::Name,
            label => By::Label(label.to_owned()),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            By::Machine => "host",
            By::Name => "name",
            By::Label(label) => label,
        }
    }

    /// Returns the machine's id if it counts, and the name. `None` if the run has none.
    fn identity(&self, run: &Run) -> Option<Identity> {
        let environment = &run.header.environment;
        let (machine, name) = match self {
            By::Machine => (environment.machine.clone(), Some(environment.host.clone())),
            By::Name => (None, Some(environment.host.clone())),
            By::Label(label) => (None, run.header.labels.get(label).cloned()),
        };
        let name = name.unwrap_or_default();
        (machine.is_some() || !name.is_empty()).then_some(Identity { machine, name })
    }
}

/// What a run says about its host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    machine: Option<String>,
    name: String,
}

/// The launches of one row of one level on one host.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub launches: Vec<f64>,
    /// The block of each launch, with numbers that are unique among the runs; only where rows of one run are compared.
    pub blocks: Vec<u32>,
    /// The runs that they come from.
    pub runs: Vec<u32>,
}

/// A row that some run has measured.
#[derive(Clone, Debug)]
pub struct Key {
    /// The row without its level, as the comparison names it.
    pub label: String,
    /// The row as it was first seen.
    pub row: Row,
}

/// What a level has on a host.
#[derive(Clone, Debug, Default)]
struct Shelf {
    /// By the place of the row.
    cells: Vec<Cell>,
    /// Why rows have no figure, by their label.
    absent: BTreeMap<String, String>,
    /// What the first of its runs says about the machine.
    facts: BTreeMap<String, String>,
    /// What tells its runs from others.
    runs: Vec<String>,
}

/// The runs so far.
#[derive(Clone, Debug)]
pub struct Gathered {
    factor: Factor,
    by: By,
    levels: Vec<String>,
    /// When the first run of each of them began.
    first_runs: Vec<String>,
    rows: Vec<Key>,
    /// The place of a row by label and definition: rows of two definitions are not compared.
    place_of_row: BTreeMap<(String, u32), usize>,
    identities: Vec<Identity>,
    /// When the last run of each of them began.
    last_runs: Vec<String>,
    shelves: BTreeMap<(usize, usize), Shelf>,
    runs: u32,
    missing: Vec<String>,
}

impl Gathered {
    /// Starts without a run.
    pub fn new(factor: Factor, by: By) -> Gathered {
        Gathered {
            factor,
            by,
            levels: Vec::new(),
            first_runs: Vec::new(),
            rows: Vec::new(),
            place_of_row: BTreeMap::new(),
            identities: Vec::new(),
            last_runs: Vec::new(),
            shelves: BTreeMap::new(),
            runs: 0,
            missing: Vec::new(),
        }
    }

    /// Adds the rows of a run that `keep` accepts.
    ///
    /// # Errors
    /// If the run does not say on which host it was made, or has no level.
    pub fn take(&mut self, run: &Run, keep: impl Fn(&Row) -> bool) -> Result<(), String> {
        let identity = self.by.identity(run).ok_or_else(|| match &self.by {
            By::Label(label) => format!("it has no label {label}, which tells hosts apart"),
            _ => "it does not name its host".to_owned(),
        })?;
        let identity_of_run = run.header.identity();
        let number = self.runs;
        self.runs += 1;
        let at = place(&mut self.identities, identity);
        self.last_runs.resize(self.identities.len(), String::new());
        self.last_runs[at] = run.header.started_at.clone().max(std::mem::take(&mut self.last_runs[at]));
        let mut facts_of_run = None;
        let mut has_level = false;
        for result in run.results.iter().filter(|result| keep(&result.row)) {
            let Some(level) = self.factor.level(&run.header.run_id, run, &result.row) else { continue };
            has_level = true;
            let level = place(&mut self.levels, level);
            let started = &run.header.started_at;
            self.first_runs.resize(self.levels.len(), started.clone());
            if *started < self.first_runs[level] {
                self.first_runs[level].clone_from(started);
            }
            let label = self.factor.rest(&result.row);
            let row = self.place_of(&label, &result.row);
            let shelf = self.shelves.entry((level, at)).or_default();
            if shelf.runs.last() != Some(&identity_of_run) {
                shelf.runs.push(identity_of_run.clone());
            }
            if shelf.facts.is_empty() {
                shelf.facts.clone_from(facts_of_run.get_or_insert_with(|| facts(&run.header.environment)));
            }
            if let Err(reason) = shelf.add(row, result, number, self.factor.is_of_runs()) {
                shelf.absent.insert(label, reason);
            }
        }
        if has_level { Ok(()) } else { Err(format!("it has no {}", self.factor.name)) }
    }

    fn place_of(&mut self, label: &str, row: &Row) -> usize {
        let next = self.rows.len();
        let place = *self.place_of_row.entry((label.to_owned(), row.definition_version)).or_insert(next);
        if place == next {
            self.rows.push(Key { label: label.to_owned(), row: row.clone() });
        }
        place
    }

    /// Names the hosts that ought to have runs; those without are missing.
    pub fn expect(&mut self, hosts: &[String]) {
        let is_there = |host: &&String| !self.identities.iter().any(|identity| identity.name == **host);
        self.missing = hosts.iter().filter(is_there).cloned().collect();
    }

    /// Returns the factor.
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// Returns the levels in the order in which they appeared.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// Returns the level that was measured first.
    pub fn first_level(&self) -> Option<&str> {
        let first = (0..self.levels.len()).min_by_key(|&level| &self.first_runs[level])?;
        Some(&self.levels[first])
    }

    /// Returns the expected hosts without any run.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the rows in the order in which they appeared.
    pub fn rows(&self) -> &[Key] {
        &self.rows
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.resolved().len()
    }

    /// Returns the names that are taken as one host, because they have the same machine id.
    fn same(&self) -> Vec<Vec<String>> {
        let names = |identities: &Vec<usize>| {
            let names: BTreeSet<&str> = identities.iter().map(|&at| self.identities[at].name.as_str()).collect();
            names.into_iter().map(str::to_owned).collect::<Vec<String>>()
        };
        self.resolved().iter().map(names).filter(|names| names.len() > 1).collect()
    }

    /// Returns the hosts, each as the places of its identities, by name. The same machine id is the same host, whatever it is
    /// called. A run without an id is of the host of that name, if there is exactly one.
    fn resolved(&self) -> Vec<Vec<usize>> {
        let mut of_machines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, identity) in self.identities.iter().enumerate() {
            if let Some(machine) = &identity.machine {
                of_machines.entry(machine).or_default().push(at);
            }
        }
        let mut hosts: Vec<Vec<usize>> = of_machines.into_values().collect();
        let with_id = hosts.len();
        for (at, identity) in self.identities.iter().enumerate().filter(|(_, identity)| identity.machine.is_none()) {
            let is_named = |host: &Vec<usize>| host.iter().any(|&one| self.identities[one].name == identity.name);
            let named: Vec<usize> = (0..with_id).filter(|&host| is_named(&hosts[host])).collect();
            match named[..] {
                [only] => hosts[only].push(at),
                _ => hosts.push(vec![at]),
            }
        }
        // A renamed host has its last name.
        hosts.iter_mut().for_each(|host| host.arrange_by_key(|&at| self.last_runs[at].clone()));
        let last = |host: &Vec<usize>| &self.identities[host[host.len() - 1]];
        hosts.arrange_by(|a, b| natural(&last(a).name, &last(b).name).then_with(|| last(a).cmp(last(b))));
        hosts
    }

    /// Returns a name for every host: two of one name are told apart by the beginning of the machine's id.
    fn names(&self, hosts: &[Vec<usize>]) -> Vec<String> {
        let last = |host: &Vec<usize>| &self.identities[host[host.len() - 1]];
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        hosts.iter().for_each(|host| *count.entry(last(host).name.as_str()).or_default() += 1);
        let name = |host: &Vec<usize>| {
            let identity = last(host);
            match &identity.machine {
                _ if count[identity.name.as_str()] == 1 => identity.name.clone(),
                Some(machine) => format!("{} ({})", identity.name, machine.chars().take(4).collect::<String>()),
                None => format!("{} (no id)", identity.name),
            }
        };
        hosts.iter().map(name).collect()
    }

    /// Returns what the hosts have of two levels.
    pub fn paired(&self, sides: [usize; 2]) -> Paired<'_> {
        let hosts = self.resolved();
        let names = self.names(&hosts);
        let mut paired = Paired { gathered: self, hosts: Vec::new(), one_sided: Vec::new() };
        for (identities, name) in hosts.iter().zip(names) {
            let shelves = sides
                .map(|side| identities.iter().filter_map(|&at| self.shelves.get(&(side, at))).collect::<Vec<&Shelf>>());
            let has = |side: usize, row: usize| shelves[side].iter().any(|shelf| shelf.has(row));
            let rows = || 0..self.rows.len();
            if rows().any(|row| has(0, row) && has(1, row)) {
                paired.hosts.push(Host { name, shelves });
            } else if let Some(side) = [0, 1].into_iter().find(|&side| rows().any(|row| has(side, row))) {
                paired.one_sided.push(OneSided { host: name, side: self.levels[sides[side]].clone() });
            } else if let Some(side) = [1, 0].into_iter().find(|&side| !shelves[side].is_empty()) {
                // It has runs, and no row of them was measured.
                paired.one_sided.push(OneSided { host: name, side: self.levels[sides[side]].clone() });
            }
        }
        paired
    }
}

/// Returns the place of the item, which it gets at the end if it is new.
fn place<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|known| *known == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

impl Shelf {
    fn has(&self, row: usize) -> bool {
        self.cells.get(row).is_some_and(|cell| !cell.launches.is_empty())
    }

    /// Adds the launches of a row's own figure, or returns why it has none.
    fn add(&mut self, row: usize, result: &RowResult, run: u32, is_of_runs: bool) -> Result<(), String> {
        let metric = result.own_metric()?;
        if metric.launches.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
            return Err("a figure of it is not above 0, and has no ratio".to_owned());
        }
        if self.cells.len() <= row {
            self.cells.resize_with(row + 1, Cell::default);
        }
        let cell = &mut self.cells[row];
        cell.launches.extend_from_slice(&metric.launches);
        if !is_of_runs {
            cell.blocks.extend(metric.blocks.iter().map(|&block| block_of(block, run)));
            cell.runs.push(run);
        }
        Ok(())
    }
}

/// Two levels on the hosts that have measured both.
pub struct Paired<'a> {
    gathered: &'a Gathered,
    hosts: Vec<Host<'a>>,
    one_sided: Vec<OneSided>,
}

/// A host with what it has of either side; of more than one shelf, if it was renamed.
struct Host<'a> {
    name: String,
    shelves: [Vec<&'a Shelf>; 2],
}

impl<'a> Paired<'a> {
    /// Returns the names of the hosts.
    pub fn names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).collect()
    }

    /// Returns the identities of the runs of the hosts.
    pub fn runs(&self) -> BTreeSet<&'a str> {
        let shelves = self.hosts.iter().flat_map(|host| host.shelves.iter().flatten());
        shelves.flat_map(|shelf| shelf.runs.iter().map(String::as_str)).collect()
    }

    /// Returns the hosts, those that take no part, and those that lack rows.
    pub fn hosts(&self) -> Hosts {
        Hosts {
            by: self.gathered.by.name().to_owned(),
            names: self.names(),
            one_sided: self.one_sided.clone(),
            missing: self.gathered.missing.clone(),
            lacking: self.lacking(),
            same: self.gathered.same(),
            ..Hosts::default()
        }
    }

    /// Returns the launches of a row on every host that has both sides.
    pub(super) fn cells(&self, row: usize) -> impl Iterator<Item = (u32, [Cow<'a, Cell>; 2])> {
        self.hosts.iter().enumerate().filter_map(move |(place, host)| {
            let [before, after] = &host.shelves;
            Some((u32::try_from(place).unwrap_or(u32::MAX), [cell(before, row)?, cell(after, row)?]))
        })
    }

    /// Returns the hosts that lack rows which others have, the first reason with them.
    fn lacking(&self) -> Vec<Lacking> {
        let rows = 0..self.gathered.rows.len();
        let has =
            |host: &Host<'_>, row: usize| host.shelves.iter().all(|shelves| shelves.iter().any(|shelf| shelf.has(row)));
        let common: Vec<usize> = rows.filter(|&row| self.hosts.iter().any(|host| has(host, row))).collect();
        let of_host = |host: &Host<'_>| {
            let lacking: Vec<usize> = common.iter().copied().filter(|&row| !has(host, row)).collect();
            let first = &self.gathered.rows[*lacking.first()?].label;
            let mut shelves = host.shelves.iter().flatten();
            let reason = shelves.find_map(|shelf| shelf.absent.get(first)).cloned().unwrap_or_default();
            let rows = u32::try_from(lacking.len()).unwrap_or(u32::MAX);
            Some(Lacking { host: host.name.clone(), rows, reason })
        };
        self.hosts.iter().filter_map(of_host).collect()
    }

    /// Returns why a row has no ratio.
    pub(super) fn left_out(&self, row: usize, sides: [usize; 2]) -> LeftOut {
        let key = &self.gathered.rows[row];
        let [baseline, candidate] = sides.map(|side| &self.gathered.levels[side]);
        let other = self
            .gathered
            .rows
            .iter()
            .find(|other| other.label == key.label && other.row.definition_version != key.row.definition_version);
        let (kind, reason) = match other {
            Some(other) => (
                LeftOutKind::Incomparable,
                format!(
                    "no host has measured it by one definition on both sides: some runs have definition {}, others {}",
                    key.row.definition_version, other.row.definition_version
                ),
            ),
            None => {
                let absent = self.gathered.shelves.values().find_map(|shelf| shelf.absent.get(&key.label));
                let why = absent.map_or_else(String::new, |reason| format!(" ({reason})"));
                let kind = if absent.is_some() { LeftOutKind::NotMeasured } else { LeftOutKind::OneSided };
                (kind, format!("no host has measured it in both {baseline} and {candidate}{why}"))
            }
        };
        LeftOut { row: key.label.clone(), kind, reason }
    }

    /// Returns the facts that differ on at least half of the hosts from side to side, with what most of them have. Where not
    /// all hosts have this difference, the fact says how many do.
    pub fn environment(&self) -> Vec<Difference> {
        let mut found: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        for host in &self.hosts {
            let [Some(before), Some(after)] = [0, 1].map(|side: usize| host.shelves[side].first()) else { continue };
            for one in differing(&before.facts, &after.facts) {
                *found.entry((one.what, one.before, one.after)).or_default() += 1;
            }
        }
        let all = self.hosts.len();
        let common = found.into_iter().filter(|(_, hosts)| hosts * 2 >= all);
        let named = common.map(|((what, before, after), hosts)| Difference {
            what: if hosts == all { what } else { format!("{what}, {hosts} of {all} hosts") },
            before,
            after,
        });
        named.collect()
    }
}

/// Returns the launches of a row: of the only shelf that has it, or of all together.
fn cell<'a>(shelves: &[&'a Shelf], row: usize) -> Option<Cow<'a, Cell>> {
    let mut found = shelves.iter().filter(|shelf| shelf.has(row)).map(|shelf| &shelf.cells[row]);
    let mut all = Cow::Borrowed(found.next()?);
    for more in found {
        let all = all.to_mut();
        all.launches.extend(&more.launches);
        all.blocks.extend(&more.blocks);
        all.runs.extend(&more.runs);
    }
    Some(all)
}

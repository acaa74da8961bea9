//! The launches of many runs by row, level and host. Takes one figure after the other, so that a fleet's runs need not be in
//! memory together: of a row it keeps its own figure's launches.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Hosts, Lacking, OneSided};
use crate::compare::environment::{Difference, differing};
use crate::compare::factor::{Factor, block_of};
use crate::compare::{LeftOut, LeftOutKind};
use crate::history::own_figure;
use crate::origin::Origin;
use crate::origin::hosts::{Identities, Over};
use crate::schema::{MetricResult, Row, Run};

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

/// A run of those that are gathered.
#[derive(Clone, Debug)]
struct Member {
    origin: Arc<Origin>,
    /// The place of its host's identity.
    at: usize,
    has_level: bool,
}

/// What a level has on a host.
#[derive(Clone, Debug, Default)]
struct Shelf {
    /// The place of each row's cell, by the place of the row; most hosts have few of a fleet's rows.
    places: Vec<Option<u32>>,
    cells: Vec<Cell>,
    /// Why rows have no figure, by their label.
    absent: BTreeMap<String, String>,
    /// Its runs.
    runs: Vec<u32>,
}

/// The runs so far.
#[derive(Clone, Debug)]
pub struct Gathered {
    factor: Factor,
    levels: Vec<String>,
    /// When the first run of each of them began.
    first_runs: Vec<String>,
    rows: Vec<Key>,
    /// The place of a row by label and definition: rows of two definitions are not compared.
    place_of_row: BTreeMap<String, Vec<(u32, usize)>>,
    identities: Identities,
    shelves: BTreeMap<(usize, usize), Shelf>,
    runs: Vec<Member>,
    missing: Vec<String>,
}

impl Gathered {
    /// Starts without a run.
    pub fn new(factor: Factor, over: Over) -> Gathered {
        Gathered {
            factor,
            levels: Vec::new(),
            first_runs: Vec::new(),
            rows: Vec::new(),
            place_of_row: BTreeMap::new(),
            identities: Identities::new(over),
            shelves: BTreeMap::new(),
            runs: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Adds all rows of a run that is there as a whole.
    ///
    /// # Errors
    /// As [`Gathered::begin`].
    pub fn take(&mut self, run: &Run) -> Result<(), String> {
        let number = self.begin(&Arc::new(Origin::of(&run.header.run_id, run)))?;
        run.results.iter().for_each(|result| self.row(number, &result.row, own_figure(result)));
        Ok(())
    }

    /// Begins a run, and returns its number for [`Gathered::row`].
    ///
    /// # Errors
    /// If the run does not say on which host it was made.
    pub fn begin(&mut self, origin: &Arc<Origin>) -> Result<usize, String> {
        let at = self.identities.add_named(origin)?;
        self.runs.push(Member { origin: Arc::clone(origin), at, has_level: false });
        Ok(self.runs.len() - 1)
    }

    /// Adds a row of a run: its own figure, or why it has none.
    pub fn row(&mut self, run: usize, row: &Row, figure: Result<&MetricResult, String>) {
        let member = &mut self.runs[run];
        let (origin, at) = (&member.origin, member.at);
        let Some(level) = self.factor.level(origin, row) else { return };
        let level = place(&mut self.levels, level);
        self.first_runs.resize(self.levels.len(), origin.started_at.clone());
        if origin.started_at < self.first_runs[level] {
            self.first_runs[level].clone_from(&origin.started_at);
        }
        member.has_level = true;
        let label = self.factor.rest(row);
        let place = self.place_of(&label, row);
        let number = u32::try_from(run).unwrap_or(u32::MAX);
        let is_of_runs = self.factor.is_of_runs();
        let shelf = self.shelves.entry((level, at)).or_default();
        if shelf.runs.last() != Some(&number) {
            shelf.runs.push(number);
        }
        if let Err(reason) = figure.and_then(|metric| shelf.add(place, metric, number, is_of_runs)) {
            shelf.absent.insert(label, reason);
        }
    }

    /// Returns the runs without a row that has a level, each with the reason for which it takes no part.
    pub fn without_level(&self) -> impl Iterator<Item = (&Origin, String)> {
        let without = self.runs.iter().filter(|member| !member.has_level);
        without.map(|member| (&*member.origin, format!("it has no {}", self.factor.name)))
    }

    fn place_of(&mut self, label: &str, row: &Row) -> usize {
        let next = self.rows.len();
        if !self.place_of_row.contains_key(label) {
            self.place_of_row.insert(label.to_owned(), Vec::new());
        }
        let places = self.place_of_row.get_mut(label).expect("it was inserted");
        let known = places.iter().find(|(version, _)| *version == row.pattern_definition());
        if let Some((_, place)) = known {
            return *place;
        }
        places.push((row.pattern_definition(), next));
        self.rows.push(Key { label: label.to_owned(), row: row.clone() });
        next
    }

    fn origin(&self, run: u32) -> &Origin {
        &self.runs[run as usize].origin
    }

    /// Names the hosts that ought to have runs; those without are missing.
    pub fn expect(&mut self, hosts: &[String]) {
        self.missing = hosts.iter().filter(|host| !self.identities.has_name(host)).cloned().collect();
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
        self.identities.resolved().len()
    }

    /// Returns what the hosts have of two levels.
    pub fn paired(&self, sides: [usize; 2]) -> Paired<'_> {
        let hosts = self.identities.resolved();
        let names = self.identities.names(&hosts);
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
    /// Returns the launches of a row, if it has any.
    fn cell(&self, row: usize) -> Option<&Cell> {
        let place = (*self.places.get(row)?)?;
        Some(&self.cells[place as usize])
    }

    fn has(&self, row: usize) -> bool {
        self.cell(row).is_some()
    }

    /// Adds the launches of a row's own figure, or returns why it cannot be compared.
    fn add(&mut self, row: usize, metric: &MetricResult, run: u32, is_of_runs: bool) -> Result<(), String> {
        if metric.launches.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
            return Err("a figure of it is not above 0, and has no ratio".to_owned());
        }
        if metric.launches.is_empty() {
            return Err("it has no launch".to_owned());
        }
        if self.places.len() <= row {
            self.places.resize(row + 1, None);
        }
        let next = self.cells.len();
        let place = *self.places[row].get_or_insert(u32::try_from(next).expect("fewer rows than 2^32")) as usize;
        if place == next {
            self.cells.push(Cell::default());
        }
        let cell = &mut self.cells[place];
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
    pub fn runs(&self) -> BTreeSet<String> {
        let shelves = self.hosts.iter().flat_map(|host| host.shelves.iter().flatten());
        shelves.flat_map(|shelf| shelf.runs.iter().map(|run| self.gathered.origin(*run).identity())).collect()
    }

    /// Returns the hosts, those that take no part, and those that lack rows.
    pub fn hosts(&self) -> Hosts {
        Hosts {
            by: self.gathered.identities.over().name().to_owned(),
            names: self.names(),
            one_sided: self.one_sided.clone(),
            missing: self.gathered.missing.clone(),
            lacking: self.lacking(),
            same: self.gathered.identities.same(),
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
        let other =
            self.gathered.rows.iter().find(|other| {
                other.label == key.label && other.row.pattern_definition() != key.row.pattern_definition()
            });
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
                let mut of_baseline = self.gathered.shelves.iter().filter(|((level, _), _)| *level == sides[0]);
                let kind = match absent {
                    Some(_) => LeftOutKind::NotMeasured,
                    None if self.gathered.factor.is_of_runs() && of_baseline.any(|(_, shelf)| shelf.has(row)) => {
                        LeftOutKind::Missing
                    }
                    None => LeftOutKind::OneSided,
                };
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
            let facts = |shelf: &&Shelf| Some(&*self.gathered.origin(*shelf.runs.first()?).facts);
            let [Some(before), Some(after)] = [0, 1].map(|side: usize| host.shelves[side].first().and_then(facts))
            else {
                continue;
            };
            for one in differing(before, after) {
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
    let mut found = shelves.iter().filter_map(|shelf| shelf.cell(row));
    let mut all = Cow::Borrowed(found.next()?);
    for more in found {
        let all = all.to_mut();
        all.launches.extend(&more.launches);
        all.blocks.extend(&more.blocks);
        all.runs.extend(&more.runs);
    }
    Some(all)
}

//! Which runs are of one host. A machine's id is the same whatever the host is called; a run without one belongs to the host of its
//! name, if there is exactly one. Called by histories and by comparisons over hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::Origin;
use crate::sorting::{Arrange, natural};

/// What hosts are told apart by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// The machine's id, whatever the host is called; the host name where a run has no such id.
    #[default]
    Machine,
    /// The host name.
    Name,
    /// A label of the runs: where many containers or nodes share one machine id, or have a new name in every run.
    Label(String),
}

impl Over {
    /// Returns the property of that name: `host`, `name`, or else a label.
    pub fn named(name: &str) -> Over {
        match name {
            "host" => Over::Machine,
            "name" => Over::Name,
            label => Over::Label(label.to_owned()),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Over::Machine => "host",
            Over::Name => "name",
            Over::Label(label) => label,
        }
    }

    /// Returns the machine's id if it counts, and the name, which may be empty. `None` if the run has no such label.
    fn identity(&self, run: &Origin) -> Option<Identity> {
        let (machine, name) = match self {
            Over::Machine => (run.machine.id.clone(), Some(run.machine.host.clone())),
            Over::Name => (None, Some(run.machine.host.clone())),
            Over::Label(label) => (None, run.labels.get(label).filter(|value| !value.is_empty()).cloned()),
        };
        Some(Identity { machine, name: name? })
    }
}

/// What a run says about its host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    machine: Option<String>,
    name: String,
}

/// What runs say about their hosts, so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identities {
    over: Over,
    identities: Vec<Identity>,
    place_of: BTreeMap<Identity, usize>,
    /// When the last run of each of them began.
    last_runs: Vec<String>,
}

impl Identities {
    pub(crate) fn new(over: Over) -> Identities {
        Identities { over, ..Identities::default() }
    }

    pub(crate) fn over(&self) -> &Over {
        &self.over
    }

    /// Adds what a run says, and returns its place.
    ///
    /// # Errors
    /// If the run has no such label.
    pub(crate) fn add(&mut self, run: &Origin) -> Result<usize, String> {
        let identity = self.identity(run)?;
        Ok(self.place(identity, run))
    }

    /// Adds what a run says, as [`Identities::add`].
    ///
    /// # Errors
    /// Also if the run says nothing about its host.
    pub(crate) fn add_named(&mut self, run: &Origin) -> Result<usize, String> {
        let identity = self.identity(run)?;
        if identity.machine.is_none() && identity.name.is_empty() {
            return Err("it does not name its host".to_owned());
        }
        Ok(self.place(identity, run))
    }

    fn identity(&self, run: &Origin) -> Result<Identity, String> {
        let identity = self.over.identity(run);
        identity.ok_or_else(|| format!("it has no label {}, which tells hosts apart", self.over.name()))
    }

    fn place(&mut self, identity: Identity, run: &Origin) -> usize {
        let next = self.identities.len();
        let at = *self.place_of.entry(identity.clone()).or_insert(next);
        if at == next {
            self.identities.push(identity);
            self.last_runs.push(String::new());
        }
        if self.last_runs[at] < run.started_at {
            self.last_runs[at].clone_from(&run.started_at);
        }
        at
    }

    /// Whether a host has this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.identities.iter().any(|identity| identity.name == name)
    }

    /// Returns the hosts, each as its places, by name.
    pub(crate) fn resolved(&self) -> Vec<Vec<usize>> {
        let mut of_machines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, identity) in self.identities.iter().enumerate() {
            if let Some(machine) = &identity.machine {
                of_machines.entry(machine).or_default().push(at);
            }
        }
        let mut hosts: Vec<Vec<usize>> = of_machines.into_values().collect();
        let mut hosts_of_name: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (host, places) in hosts.iter().enumerate() {
            for &at in places {
                hosts_of_name.entry(&self.identities[at].name).or_default().insert(host);
            }
        }
        for (at, identity) in self.identities.iter().enumerate().filter(|(_, identity)| identity.machine.is_none()) {
            let named = hosts_of_name.get(identity.name.as_str());
            match named.filter(|named| named.len() == 1).and_then(|named| named.first()) {
                Some(&only) => hosts[only].push(at),
                None => hosts.push(vec![at]),
            }
        }
        // A renamed host has its last name.
        hosts.iter_mut().for_each(|host| host.arrange_by_key(|&at| self.last_runs[at].clone()));
        hosts.arrange_by(|a, b| {
            let (a, b) = (self.last(a), self.last(b));
            natural(&a.name, &b.name).then_with(|| a.cmp(b))
        });
        hosts
    }

    fn last(&self, host: &[usize]) -> &Identity {
        &self.identities[host[host.len() - 1]]
    }

    /// Returns a name for every host: two of one name are told apart by the beginning of the machine's id.
    pub(crate) fn names(&self, hosts: &[Vec<usize>]) -> Vec<String> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        hosts.iter().for_each(|host| *count.entry(self.last(host).name.as_str()).or_default() += 1);
        let name = |host: &Vec<usize>| {
            let identity = self.last(host);
            match &identity.machine {
                _ if count[identity.name.as_str()] == 1 => identity.name.clone(),
                Some(machine) => format!("{} ({})", identity.name, machine.chars().take(4).collect::<String>()),
                None => format!("{} (no id)", identity.name),
            }
        };
        hosts.iter().map(name).collect()
    }

    /// Returns the names that are taken as one host, because they have the same machine id.
    pub(crate) fn same(&self) -> Vec<Vec<String>> {
        let names = |places: &Vec<usize>| {
            let names: BTreeSet<&str> = places.iter().map(|&at| self.identities[at].name.as_str()).collect();
            names.into_iter().map(str::to_owned).collect::<Vec<String>>()
        };
        self.resolved().iter().map(names).filter(|names| names.len() > 1).collect()
    }
}

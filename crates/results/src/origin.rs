//! What is known of a run beside its rows: its name, its machine, its program, its labels. Made of a run that was read, or of a line of
//! an archive; histories and comparisons over hosts take figures with it, whichever way they have come.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compare::environment::facts;
use crate::schema::{Environment, Run, RunHeader, RunStatus};

pub mod hosts;

/// A run without its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The name of the run, as it is shown.
    pub run: String,
    /// Its own name.
    pub run_id: String,
    /// The time at which it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub machine: Machine,
    /// The release of the kernel.
    pub kernel: String,
    /// The program that measured: its version, and its fingerprint if it is known.
    pub program: String,
    /// How it ended.
    pub status: RunStatus,
    /// What the user said of the run.
    pub labels: BTreeMap<String, String>,
    /// What can differ between two runs: the environment, the program and settings, but not labels. Many runs have the same.
    #[serde(skip)]
    pub facts: Arc<BTreeMap<String, String>>,
}

/// A machine as far as machines are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// What follows from the machine's id, whatever the host is called; absent if the run does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Model of the processor.
    pub cpu: String,
    /// Number of CPUs that a run could use.
    pub cpus: usize,
}

impl Machine {
    /// Returns the machine of an environment.
    pub fn of(environment: &Environment) -> Machine {
        Machine {
            host: environment.host.clone(),
            id: environment.machine.clone(),
            cpu: environment.cpu.model.split_whitespace().collect::<Vec<_>>().join(" "),
            cpus: environment.cpu.affinity.len(),
        }
    }
}

impl Origin {
    /// Returns what is known of a run that is shown by this name.
    pub fn of(name: &str, run: &Run) -> Origin {
        let header = &run.header;
        Origin {
            run: name.to_owned(),
            run_id: header.run_id.clone(),
            started_at: header.started_at.clone(),
            machine: Machine::of(&header.environment),
            kernel: header.environment.kernel.release.clone(),
            program: header.program_name(),
            status: run.status,
            labels: header.labels.clone(),
            facts: Arc::new(facts_of(header)),
        }
    }

    /// Returns what tells the run from all others, as [`RunHeader::identity`].
    pub fn identity(&self) -> String {
        identity(&self.run_id, &self.started_at, self.machine.id.as_deref(), &self.labels)
    }

    /// Returns the facts, with the labels among them.
    pub(crate) fn facts_and_labels(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::clone(&self.facts);
        facts.extend(self.labels.iter().map(|(name, value)| (format!("{LABEL}{name}"), value.clone())));
        facts
    }

    /// Returns a fact of [`Origin::facts_and_labels`].
    pub(crate) fn fact(&self, name: &str) -> Option<&str> {
        let label = name.strip_prefix(LABEL).and_then(|label| self.labels.get(label));
        label.or_else(|| self.facts.get(name)).map(String::as_str)
    }
}

/// What the fact that is a label's is called before the label's name.
const LABEL: &str = "label ";

/// Returns what tells a run from all others.
pub(crate) fn identity(
    run_id: &str,
    started_at: &str,
    machine: Option<&str>,
    labels: &BTreeMap<String, String>,
) -> String {
    let labels = labels.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{run_id} {started_at} {}{}", machine.unwrap_or_default(), labels.collect::<String>())
}

/// Returns what can differ between two runs, by name; without the labels of the run.
pub fn facts_of(header: &RunHeader) -> BTreeMap<String, String> {
    let mut facts = facts(&header.environment);
    facts.insert("program".to_owned(), header.program_name());
    facts.insert("launches".to_owned(), header.settings.launches.to_string());
    facts.insert("time of a launch".to_owned(), format!("{} s", header.settings.time_s));
    facts
}

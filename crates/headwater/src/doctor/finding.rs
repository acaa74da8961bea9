//! The result of a check as a value, for the terminal and for `--json`.

use serde::Serialize;

use super::Facts;

/// How serious a finding is. The order is that of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Figures suffer, or rows cannot be measured.
    Warning,
    /// A fact that matters when the figures are read.
    Note,
    /// No problem.
    Good,
}

impl Status {
    /// Returns the word for it in the output.
    pub fn name(self) -> &'static str {
        match self {
            Status::Warning => "warning",
            Status::Note => "note",
            Status::Good => "good",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The topic, in one or two words, from the table of checks.
    pub topic: &'static str,
    /// How serious it is.
    pub status: Status,
    /// The observation with its value, in one line.
    pub what: String,
    /// Everything of which `what` names the first few; only in the JSON output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// The consequence for a measurement; empty if the status is good.
    pub consequence: String,
    /// A change that would help, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

impl Finding {
    /// Makes a finding without a problem.
    pub fn good(what: impl Into<String>) -> Finding {
        Self::new(Status::Good, what, "")
    }

    /// Makes a finding that matters when the figures are read.
    pub fn note(what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Self::new(Status::Note, what, consequence)
    }

    /// Makes a finding that impairs figures or prevents rows.
    pub fn warning(what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Self::new(Status::Warning, what, consequence)
    }

    /// Adds a remedy, if there is one.
    pub fn with(self, remedy: impl Into<Option<Remedy>>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    /// Adds everything of which the observation names the first few.
    pub fn listing(self, all: Vec<String>) -> Finding {
        Finding { all, ..self }
    }

    fn new(status: Status, what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Finding { topic: "", status, what: what.into(), all: Vec::new(), consequence: consequence.into(), remedy: None }
    }
}

/// A change that the user may make. Headwater never makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// A description of the change.
    pub what: String,
    /// The command for a shell.
    pub command: String,
    /// The command that restores the present value.
    pub undo: String,
}

impl Remedy {
    /// Sets the system setting `name`; `None` if its present value is unknown, because the change could not be undone.
    pub fn sysctl(facts: &Facts, name: &str, value: impl ToString) -> Option<Remedy> {
        let (value, present) = (value.to_string(), facts.environment.limits.sysctl.get(name)?);
        let set = |value: &str| format!("{}sysctl -w {name}={}", facts.sudo(), quoted(value));
        Some(Remedy { what: format!("Set {name} to {value}"), command: set(&value), undo: set(present) })
    }

    /// Writes `value` to `files` (a shell pattern) whose present contents are `present`.
    pub fn write(facts: &Facts, files: &str, value: &str, present: &str) -> Remedy {
        let set = |value: &str| format!("echo {} | {}tee {files}", quoted(value), facts.sudo());
        Remedy { what: format!("Write {value} to {files}"), command: set(value), undo: set(present) }
    }

    /// Sets the soft limit `name` of the shell and its children to `value`; the hard limit too if it is lower.
    pub fn limit(facts: &Facts, name: &str, value: u64) -> Option<Remedy> {
        let present = facts.environment.limits.resource.get(name)?;
        let hard = *facts.probes.hard_limits.get(name)?;
        let what = format!("Set the limit {name} of this shell to {value}");
        let (command, undo) = match hard {
            Some(hard) if hard < value => {
                let set = |soft: &str, hard: u64| format!("{}prlimit --pid $$ --{name}={soft}:{hard}", facts.sudo());
                (set(&value.to_string(), value), set(present, hard))
            }
            _ => {
                let set = |soft: &str| format!("prlimit --pid $$ --{name}={soft}:");
                (set(&value.to_string()), set(present))
            }
        };
        Some(Remedy { what, command, undo })
    }
}

/// Quotes a value that a shell would split.
fn quoted(value: &str) -> String {
    if value.contains([' ', '\t']) { format!("'{value}'") } else { value.to_owned() }
}

//! What a check finds, as a value: for the terminal and for `--json`.

use serde::Serialize;

use super::Facts;

/// How much a finding matters. Ordered as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Figures suffer, or rows cannot be measured.
    Warning,
    /// Something to know when reading the figures.
    Note,
    /// As it should be.
    Good,
}

impl Status {
    /// The word shown for it.
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
    /// What was looked at, in one or two words, from the table of checks.
    pub topic: &'static str,
    /// How much it matters.
    pub status: Status,
    /// What was found, with the figure: one line.
    pub what: String,
    /// What follows for a measurement; empty where all is good.
    pub consequence: String,
    /// What would help, where something does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

impl Finding {
    /// All is as it should be.
    pub fn good(what: impl Into<String>) -> Finding {
        Self::new(Status::Good, what, "")
    }

    /// Something to know.
    pub fn note(what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Self::new(Status::Note, what, consequence)
    }

    /// Something that spoils figures or rows.
    pub fn warning(what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Self::new(Status::Warning, what, consequence)
    }

    /// The same with what would help, if anything does.
    pub fn with(self, remedy: impl Into<Option<Remedy>>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    fn new(status: Status, what: impl Into<String>, consequence: impl Into<String>) -> Finding {
        Finding { topic: "", status, what: what.into(), consequence: consequence.into(), remedy: None }
    }
}

/// A change that the user may make; the tool never does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What it does, in words.
    pub what: String,
    /// The command for a shell.
    pub command: String,
    /// The command that brings the present value back.
    pub undo: String,
}

impl Remedy {
    /// Sets the system setting `name`; absent where its present value is not known, because it could not be undone.
    pub fn sysctl(facts: &Facts, name: &str, value: impl ToString) -> Option<Remedy> {
        let (value, present) = (value.to_string(), facts.environment.limits.sysctl.get(name)?);
        let set = |value: &str| format!("{}sysctl -w {name}={}", facts.sudo(), quoted(value));
        Some(Remedy { what: format!("Set {name} to {value}"), command: set(&value), undo: set(present) })
    }

    /// Writes `value` to `files` (a pattern of the shell), which say `present` now.
    pub fn write(facts: &Facts, files: &str, value: &str, present: &str) -> Remedy {
        let set = |value: &str| format!("echo {} | {}tee {files}", quoted(value), facts.sudo());
        Remedy { what: format!("Write {value} to {files}"), command: set(value), undo: set(present) }
    }

    /// Sets the soft limit `name` of the shell, and so of what it starts, to `value`; the hard limit too if it is lower.
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

/// Quotes what a shell would split.
fn quoted(value: &str) -> String {
    if value.contains([' ', '\t']) { format!("'{value}'") } else { value.to_owned() }
}

//! What a check may know: the environment and the probes, and nothing else.

use headwater_results::schema::Environment;

use super::Probes;

/// Everything that a check decides from.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The captured environment.
    pub environment: &'a Environment,
    /// What was tried besides.
    pub probes: &'a Probes,
}

impl Facts<'_> {
    /// A system setting that is one number.
    pub fn sysctl(&self, name: &str) -> Option<u64> {
        self.environment.limits.sysctl.get(name)?.parse().ok()
    }

    /// A soft limit of this process; `u64::MAX` where unlimited.
    pub fn limit(&self, name: &str) -> Option<u64> {
        match self.environment.limits.resource.get(name)?.as_str() {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        }
    }

    /// A fact about tracing.
    pub fn tracing(&self, name: &str) -> Option<&str> {
        self.environment.tracing.get(name).map(String::as_str)
    }

    /// What a command that needs privileges begins with.
    pub fn sudo(&self) -> &'static str {
        if self.probes.is_root { "" } else { "sudo " }
    }
}

//! The input of the checks: the environment and the probes.

use headwater_results::schema::Environment;

use super::Probes;

/// All facts that a check may use.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The captured environment.
    pub environment: &'a Environment,
    /// Facts that only the checks need.
    pub probes: &'a Probes,
}

impl Facts<'_> {
    /// Returns a system setting that is one number.
    pub fn sysctl(&self, name: &str) -> Option<u64> {
        self.environment.limits.sysctl.get(name)?.parse().ok()
    }

    /// Returns a soft limit of this process; `u64::MAX` if unlimited.
    pub fn limit(&self, name: &str) -> Option<u64> {
        match self.environment.limits.resource.get(name)?.as_str() {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        }
    }

    /// Returns a fact about tracing.
    pub fn tracing(&self, name: &str) -> Option<&str> {
        self.environment.tracing.get(name).map(String::as_str)
    }

    /// Returns the prefix of a command that needs privileges.
    pub fn sudo(&self) -> &'static str {
        if self.probes.is_root { "" } else { "sudo " }
    }
}

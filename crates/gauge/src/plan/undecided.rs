//! What a run with too few launches cannot show, for the warning before it begins. Called by the command.

use headwater_results::compare::{ALPHA, blocks_for_family};

use super::Plan;

/// A run whose variants cannot differ in any row, whatever it measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    /// The rows that are compared.
    pub rows: usize,
    /// The launches of each that the settings, or the budget, leave.
    pub launches: u32,
    /// The fewest launches that can show a difference of a single row.
    pub needed: u32,
    /// How much longer the run takes with these, s.
    pub more_s: f64,
    /// Whether it is the budget that does not hold them.
    pub is_budget: bool,
}

impl Plan {
    /// Returns the fewest launches with which a comparison of the variants can show a difference of a single row; 1 without
    /// variants.
    pub(super) fn launches_needed(&self) -> u32 {
        match self.variants.len() {
            0 | 1 => 1,
            variants => blocks_for_family(ALPHA, self.rows.len() / variants, true) as u32,
        }
    }

    /// Returns what the launches cannot show; `None` if they can show something, or nothing is compared.
    pub fn undecided(&self) -> Option<Undecided> {
        if self.variants.len() < 2 {
            return None;
        }
        let (settings, needed, estimate_s) = (&self.settings, self.launches_needed(), self.estimate_s());
        let of_launch_s = estimate_s / f64::from(settings.launches.max(1));
        let held =
            settings.budget_s.filter(|budget_s| *budget_s < estimate_s).map(|budget_s| (budget_s / of_launch_s) as u32);
        let launches = settings.launches.min(held.unwrap_or(u32::MAX));
        let from_s = f64::from(launches) * of_launch_s;
        (launches < needed).then(|| Undecided {
            rows: self.rows.len() / self.variants.len(),
            launches,
            needed,
            more_s: f64::from(needed) * of_launch_s - from_s,
            is_budget: settings.launches >= needed,
        })
    }
}

#[cfg(test)]
mod tests;

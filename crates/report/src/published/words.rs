//! The texts of claims, for the terminal and for the document.

use headwater_results::published::claims::{self, Case, Claim, Needs, Unit, Verdict, Wording};

use crate::text::plural;
use crate::units::significant;

/// The heads of the columns with a case's figures.
pub(super) const HEADS: [&str; 4] = ["lowest", "mean", "highest", "holds"];

/// Returns how many claims have which verdict.
pub(super) fn summary() -> String {
    let made: Vec<&Claim> = claims::TABLE.iter().filter(|claim| claim.wording != Wording::Asked).collect();
    let count = |wanted: Verdict| made.iter().filter(|claim| claim.verdict(&claim.cases()) == wanted).count();
    format!(
        "{} of the reports, each held against the figures of its own report alone: {} by them, {} in part, {} not. \
         A mean is geometric, over the sizes or rows of a case; \"about N\" holds from N / {about} to {about} N.",
        plural(made.len(), "claim"),
        match count(Verdict::Holds) {
            1 => "1 is borne out".to_owned(),
            many => format!("{many} are borne out"),
        },
        count(Verdict::HoldsInPart),
        count(Verdict::DoesNotHold),
        about = claims::ABOUT,
    )
}

/// Returns the source of a claim's wording.
pub(super) fn wording(wording: Wording) -> String {
    match wording {
        Wording::Quoted { from } => format!("Quoted from {from}."),
        Wording::InSense => "The report's claim in sense; its wording is not at hand.".to_owned(),
        Wording::Asked => "No claim of the report: a question that its figures invite.".to_owned(),
    }
}

/// Returns the verdict on a claim.
pub(super) fn verdict(claim: &Claim, cases: &[Case]) -> String {
    let holding = cases.iter().filter(|case| case.holds).count();
    let verdict = match (claim.verdict(cases), claim.wording) {
        (Verdict::Holds, Wording::Asked) => "Yes",
        (Verdict::HoldsInPart, Wording::Asked) => "In part",
        (Verdict::DoesNotHold, Wording::Asked) => "No",
        (Verdict::Holds, _) => "Holds",
        (Verdict::HoldsInPart, _) => "Holds in part",
        (Verdict::DoesNotHold, _) => "Does not hold",
    };
    let needed = if claim.needs == Needs::One { ", one is enough" } else { "" };
    format!("{verdict}: in {holding} of {}{needed}.", plural(cases.len(), "case"))
}

/// Returns the heading of the column with the cases' names.
pub(super) fn corner(claim: &Claim) -> &'static str {
    match claim.unit {
        Unit::Times => "times",
        Unit::Change => "change",
    }
}

/// Formats the lowest, mean and highest value.
pub(super) fn figures(case: &Case, unit: Unit) -> [String; 3] {
    [case.low, case.mean, case.high].map(|ratio| match unit {
        Unit::Times => significant(ratio),
        Unit::Change => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    })
}

/// Returns `yes` or `no`.
pub(super) fn yes_or_no(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

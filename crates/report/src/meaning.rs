//! The meaning of each kind of flag, without its numbers. Used by every legend of letters.

use headwater_results::flags::Flag;

/// Returns a short phrase.
pub(crate) fn meaning(flag: &Flag) -> &'static str {
    match flag {
        Flag::FewLaunches { .. } => "few launches: the interval covers less than 95 %",
        Flag::NotSteady { .. } => "warm-up ended before the figures had levelled off",
        Flag::Autocorrelated { .. } => "launches resemble the one before: the interval is too narrow",
        Flag::Sloped { .. } => "drifts over the run",
        Flag::ChangePoint { .. } => "jumps to another level during the run",
        Flag::TwoModes { .. } => "two typical values: the median is at best one of them",
        Flag::Quantised { .. } => "the step of the clock shows",
        Flag::TooFewSamples { .. } => "few batches in a launch",
        Flag::Stolen { .. } => "the hypervisor took CPU time",
        Flag::ForeignLoad { .. } => "other programs took CPU time",
        Flag::Throttled { .. } => "stopped by the CPU quota",
        Flag::InvoluntarySwitches { .. } => "pushed off its CPU",
        Flag::WideInterval { .. } => "wide interval",
    }
}

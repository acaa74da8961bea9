//! The words for names of the data model: what each kind of flag means, and what each pattern measures. Used by legends and by the
//! titles of tables and charts.

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

/// Returns what a figure means that is marked as best, by a `sign`.
pub(crate) fn marked(sign: &str) -> String {
    format!(
        "{sign}: the best of those compared, and every one that is shown to be as good within {:.0} %; none is marked where none \
         is shown to be worse.",
        crate::judge::EQUIVALENCE * 100.0
    )
}

/// The patterns in words: the titles of tables and charts.
const PATTERNS: [(&str, &str); 18] = [
    ("stream", "One way, same-size reads"),
    ("stream-full", "One way, full reads"),
    ("single", "One way, within one process"),
    ("acknowledged", "One way, each message acknowledged"),
    ("flood", "One way, the sender never waits"),
    ("rtt", "Round trip"),
    ("rtt-two-channels", "Round trip over two channels"),
    ("wake", "Waking a sleeping reader"),
    ("matrix", "Size by count"),
    ("sync", "Synchronisation"),
    ("paced-100", "100 messages a second"),
    ("paced-1000", "1,000 messages a second"),
    ("paced-10000", "10,000 messages a second"),
    ("pairs-stream", "One way, eight pairs at once"),
    ("pairs-rtt", "Round trip, eight pairs at once"),
    ("epoll-level", "Round trip between event loops"),
    ("epoll-edge", "Round trip between edge-triggered event loops"),
    ("poll-both-ways", "Both ways at once by poll"),
];

/// Returns what a pattern measures, in words; the name itself of a pattern without words.
pub(crate) fn of_pattern(pattern: &str) -> &str {
    PATTERNS.iter().find(|(name, _)| *name == pattern).map_or(pattern, |(_, words)| words)
}

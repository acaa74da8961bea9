//! The kernel: release, version, command line and preemption model.

use headwater_os_tools::machine::Uname;
use headwater_results::schema::Kernel;

use super::Source;

/// Captures the kernel with these names.
pub fn capture(source: &Source, names: &Uname) -> Kernel {
    let command_line = source.read("/proc/cmdline");
    let preemption = preemption(&PreemptionSources {
        debug: source.read("/sys/kernel/debug/sched/preempt").as_deref(),
        command_line: command_line.as_deref(),
        version: &names.version,
        config: source.read(format!("/boot/config-{}", names.release)).as_deref(),
    });
    Kernel { release: names.release.clone(), version: names.version.clone(), command_line, preemption }
}

/// The texts from which the preemption model is determined.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreemptionSources<'text> {
    /// `/sys/kernel/debug/sched/preempt`, the model in use in parentheses.
    pub debug: Option<&'text str>,
    /// `/proc/cmdline`, where `preempt=` may select it.
    pub command_line: Option<&'text str>,
    /// `uname -v`, which names the model of a preemptible kernel.
    pub version: &'text str,
    /// The configuration that the kernel was built with.
    pub config: Option<&'text str>,
}

/// Returns the preemption model: `none`, `voluntary`, `lazy`, `full`, `rt`, or `dynamic` if it is one of the first four
/// and the machine does not report which. The most direct source takes precedence.
pub fn preemption(sources: &PreemptionSources) -> Option<String> {
    if let Some(model) = sources.debug.and_then(parse_selected) {
        return Some(model);
    }
    let has = |word: &str| sources.version.split_ascii_whitespace().any(|part| part == word);
    let built = sources.config.and_then(parse_config);
    if has("PREEMPT_RT") {
        return Some("rt".to_owned());
    }
    if has("PREEMPT_DYNAMIC") {
        let chosen = sources.command_line.and_then(parse_preempt_option);
        return Some(chosen.or(built).unwrap_or_else(|| "dynamic".to_owned()));
    }
    if has("PREEMPT_LAZY") {
        return Some("lazy".to_owned());
    }
    if has("PREEMPT") {
        return Some("full".to_owned());
    }
    built
}

/// Returns the word in parentheses or brackets: `full` for `none voluntary (full) lazy`.
pub fn parse_selected(text: &str) -> Option<String> {
    let start = text.find(['(', '['])? + 1;
    let length = text[start..].find([')', ']'])?;
    Some(text[start..start + length].to_owned())
}

/// Returns the last `preempt=` of a command line, if it names a model.
fn parse_preempt_option(command_line: &str) -> Option<String> {
    let mut values = command_line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("preempt="));
    values.rfind(|value| ["none", "voluntary", "full", "lazy"].contains(value)).map(str::to_owned)
}

/// Returns the model that a kernel's configuration selects.
fn parse_config(config: &str) -> Option<String> {
    let models = [
        ("CONFIG_PREEMPT_NONE=y", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
        ("CONFIG_PREEMPT_RT=y", "rt"),
    ];
    let chosen = |line: &str| models.iter().find(|(option, _)| *option == line).map(|(_, model)| (*model).to_owned());
    config.lines().find_map(chosen)
}

#[cfg(test)]
mod tests;

//! Tests of the preemption model from several combinations of sources.

use super::*;

fn check(sources: PreemptionSources, expect: Option<&str>) {
    assert_eq!(preemption(&sources).as_deref(), expect, "{sources:?}");
}

#[test]
fn most_direct_source_wins() {
    let all = PreemptionSources {
        debug: Some("none voluntary (full) lazy"),
        command_line: Some("quiet preempt=none preempt=voluntary"),
        version: "#1 SMP PREEMPT_DYNAMIC Debian",
        config: Some("CONFIG_SMP=y\nCONFIG_PREEMPT_LAZY=y\n"),
    };
    check(all, Some("full"));
    check(PreemptionSources { debug: None, ..all }, Some("voluntary"));
    check(PreemptionSources { debug: None, command_line: Some("quiet"), ..all }, Some("lazy"));
    check(PreemptionSources { debug: None, command_line: Some("preempt=often"), config: None, ..all }, Some("dynamic"));
}

#[test]
fn version_names_what_is_built_in() {
    let version = |version| PreemptionSources { version, ..PreemptionSources::default() };
    check(version("#1 SMP PREEMPT_RT Debian"), Some("rt"));
    check(version("#1 SMP PREEMPT Debian"), Some("full"));
    check(version("#1 SMP PREEMPT_LAZY Debian"), Some("lazy"));
    check(version("#1 SMP PREEMPT_DYNAMIC Debian"), Some("dynamic"));
}

#[test]
fn without_a_version_only_the_configuration_counts() {
    let silent = PreemptionSources { version: "#1 SMP", ..PreemptionSources::default() };
    check(silent, None);
    check(
        PreemptionSources { config: Some("# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_VOLUNTARY=y"), ..silent },
        Some("voluntary"),
    );
    check(PreemptionSources { config: Some("CONFIG_PREEMPT_NONE=y"), ..silent }, Some("none"));
}

#[test]
fn selected_word_is_marked() {
    assert_eq!(parse_selected("always [madvise] never").as_deref(), Some("madvise"));
    assert_eq!(parse_selected("always madvise"), None);
    assert_eq!(parse_selected("(open"), None);
}

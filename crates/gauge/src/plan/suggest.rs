//! Suggests names that are similar to an unknown one.

use headwater_trace_tools::names::nearest;

/// Returns `; did you mean a, b or c?`, or an empty text.
pub fn did_you_mean<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(wrong, names).as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", listed(near, "or")),
    }
}

/// Returns `there are a, b and c; did you mean b?`: the error of an option that accepts a few names.
pub fn there_are<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("there are {}{}", listed(&names, "and"), did_you_mean(wrong, names.iter().copied()))
}

/// Returns `a, b or c`.
fn listed(names: &[&str], before_last: &str) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {before_last} {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, there_are};

    const NAMES: [&str; 5] = ["pipe", "pipe-1m", "fifo", "fifo-socket", "unix-stream"];

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        assert_eq!(did_you_mean("pip", NAMES), "; did you mean pipe or pipe-1m?");
        assert_eq!(did_you_mean("stream", NAMES), "; did you mean unix-stream?");
        assert_eq!(did_you_mean("xyzzy", NAMES), "");
    }

    #[test]
    fn few_names_are_all_listed() {
        let all = "there are pipe, pipe-1m, fifo, fifo-socket and unix-stream";
        assert_eq!(there_are("xyzzy", NAMES), all);
        assert_eq!(there_are("unix", NAMES), format!("{all}; did you mean unix-stream?"));
        assert_eq!(there_are("a", ["b"]), "there are b");
    }
}

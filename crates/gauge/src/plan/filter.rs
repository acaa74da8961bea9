//! Filters of rows: `pipe`, `pipe/rtt`, `*/stream/64`, `unix-*`, `transport:fifo`, `pattern:sync`.

use headwater_results::schema::Row;
use headwater_trace_tools::names::glob;

/// Whether one of `filters` matches `row`. Without a filter every row matches.
pub fn keeps<S: AsRef<str>>(filters: &[S], row: &Row) -> bool {
    filters.is_empty() || filters.iter().any(|filter| matches(filter.as_ref(), row))
}

/// Returns the first of `filters` that matches none of `rows`: probably a mistake of the user, even if the others
/// match.
pub fn unmatched<'f, 'r, S: AsRef<str>>(
    filters: &'f [S],
    rows: impl Iterator<Item = &'r Row> + Clone,
) -> Option<&'f str> {
    filters.iter().map(AsRef::as_ref).find(|filter| !rows.clone().any(|row| matches(filter, row)))
}

/// The words before a colon that say which part of a row's id is meant: the first or the second.
pub const TRANSPORT: &str = "transport";
/// The second part.
pub const PATTERN: &str = "pattern";
/// The second part, of rows without messages.
pub const FACILITY: &str = "facility";

/// Whether `filter` matches `row`.
///
/// A filter of one word matches any part of the row's id; with `transport:` before it only the first part, with
/// `pattern:` or `facility:` only the second. A filter with `/` matches as many parts as it has, from the left. `*`
/// matches any characters, `?` exactly one.
fn matches(filter: &str, row: &Row) -> bool {
    match filter.split_once(':') {
        Some((TRANSPORT, wanted)) => return glob(wanted, &row.subject),
        Some((PATTERN | FACILITY, wanted)) => return glob(wanted, &row.pattern),
        _ => {}
    }
    let mut parts = row.id.split('/');
    if filter.contains('/') {
        filter.split('/').all(|wanted| parts.next().is_some_and(|part| glob(wanted, part)))
    } else {
        parts.any(|part| glob(filter, part))
    }
}

#[cfg(test)]
mod tests {
    use super::{keeps, unmatched};
    use headwater_results::published;

    #[test]
    fn one_of_the_filters_is_enough_and_none_may_be_idle() {
        let run = published::run("pipes", "fc6").expect("it is compiled in");
        let rows = || run.results.iter().map(|result| &result.row);
        let kept = |filters: &[&str]| rows().filter(|row| keeps(filters, row)).count();
        assert_eq!(kept(&[]), rows().count());
        assert!(kept(&["pipe/stream/64"]) == 1 && kept(&["pipe/stream/64", "lis-pipe/stream/64"]) == 2);
        assert_eq!(unmatched(&["pipe", "pope", "fifi"], rows()), Some("pope"));
        assert_eq!(unmatched(&["pipe", "*/stream"], rows()), None);
        assert_eq!(kept(&["transport:pipe"]), kept(&["pipe"]));
        assert_eq!(kept(&["pattern:stream"]), kept(&["*/stream"]));
        assert_eq!(unmatched(&["pattern:pipe", "pipe"], rows()), Some("pattern:pipe"));
    }
}

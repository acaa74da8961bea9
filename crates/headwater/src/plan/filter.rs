//! Filters of rows: `pipe`, `pipe/rtt`, `*/stream/64`, `unix-*`.

use headwater_results::schema::Row;

/// Whether `row` is meant by one of `filters`; without a filter every row is.
pub fn keeps<S: AsRef<str>>(filters: &[S], row: &Row) -> bool {
    filters.is_empty() || filters.iter().any(|filter| matches(filter.as_ref(), row))
}

/// The first of `filters` that means none of `rows`: a slip of the user's, whatever the others mean.
pub fn idle<'f, 'r, S: AsRef<str>>(filters: &'f [S], rows: impl Iterator<Item = &'r Row> + Clone) -> Option<&'f str> {
    filters.iter().map(AsRef::as_ref).find(|filter| !rows.clone().any(|row| matches(filter, row)))
}

/// Whether `row` is meant by `filter`.
///
/// A filter of one word names any part of the row's id; a filter with `/` names the parts from the left, as many as it
/// has. `*` stands for any characters, `?` for one.
fn matches(filter: &str, row: &Row) -> bool {
    let mut parts = row.id.split('/');
    if filter.contains('/') {
        filter.split('/').all(|wanted| parts.next().is_some_and(|part| glob(wanted, part)))
    } else {
        parts.any(|part| glob(filter, part))
    }
}

/// Shell-like matching of one part: on a mismatch, goes back to the last star and lets it take one character more.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star_p, star_t)) = star else { return false };
                star = Some((star_p, star_t + 1));
                p = star_p + 1;
                t = star_t + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::{glob, idle, keeps};
    use crate::sources;

    #[test]
    fn one_of_the_filters_is_enough_and_none_may_be_idle() {
        let (_, run) = sources::load("published:pipes/fc6").expect("it is compiled in").remove(0);
        let rows = || run.results.iter().map(|result| &result.row);
        let kept = |filters: &[&str]| rows().filter(|row| keeps(filters, row)).count();
        assert_eq!(kept(&[]), rows().count());
        assert!(kept(&["pipe/stream/64"]) == 1 && kept(&["pipe/stream/64", "lis-pipe/stream/64"]) == 2);
        assert_eq!(idle(&["pipe", "pope", "fifi"], rows()), Some("pope"));
        assert_eq!(idle(&["pipe", "*/stream"], rows()), None);
    }

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        for (pattern, text, expected) in [
            ("pipe", "pipe", true),
            ("pipe", "pipe-1m", false),
            ("pipe*", "pipe-1m", true),
            ("*-stream", "unix-stream", true),
            ("*i*e", "pipe", true),
            ("p?pe", "pipe", true),
            ("p?pe", "ppe", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}

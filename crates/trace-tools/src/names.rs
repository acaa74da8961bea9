//! Names that users type: patterns with wildcards, and suggestions for unknown names.

/// Whether `text` matches `pattern`: `*` stands for any characters, `?` for one.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // On a mismatch, go back to the last star and let it match one character more.
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

/// Returns at most three of `names` that are similar to `wrong`, the most similar first; for an error message.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    nearest_of(wrong, names.into_iter().collect())
}

/// One copy for all kinds of lists: sorting is 7 kB of machine code.
fn nearest_of<'a>(wrong: &str, names: Vec<&'a str>) -> Vec<&'a str> {
    // Jaro-Winkler gives more weight to the beginning of a word, which users rarely mistype.
    const LIKENESS_MIN: f64 = 0.7;
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(likeness, name)| *likeness >= LIKENESS_MIN || name.contains(wrong))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn near_names_come_nearest_first_and_far_ones_not_at_all() {
        let names = ["sched_switch", "sched_waking", "irq_entry", "sched_switch"];
        assert_eq!(nearest("sched_swich", names), ["sched_switch", "sched_waking"]);
        assert_eq!(nearest("entry", names), ["irq_entry"]);
        assert!(nearest("xyzzy", names).is_empty());
    }
}

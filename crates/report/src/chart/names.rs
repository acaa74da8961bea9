//! Names in drawings: their width, their abbreviation, and what all of them have in common. Used by every chart that has
//! names beside its marks.
//!
//! A drawing has no script that could measure text, so that its width is estimated for the widest of the usual fonts.

/// The size of the letters in drawings, in pixels.
const EM: f64 = 12.0;

/// Estimates the width of a text in a drawing in pixels: at least the true one in DejaVu Sans, whose letters are wider
/// than those of the other fonts that the style sheets name.
pub(crate) fn width(text: &str) -> f64 {
    EM * text.chars().map(share_of_em).sum::<f64>()
}

fn share_of_em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | 'J' | '\'' => 0.3,
        ' ' | ',' | '.' | '/' | ':' | ';' | '|' | '\\' | '\u{b7}' => 0.34,
        'f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' => 0.41,
        's' | 'z' | 'c' | 'L' => 0.56,
        'A'..='H' | 'K' | 'N'..='V' | 'X'..='Z' | '&' => 0.79,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '\u{2026}' => 1.0,
        'a'..='z' | '0'..='9' | '_' | '*' => 0.64,
        other if other.is_ascii() => 0.84,
        // Unknown letters may be as wide as they are high.
        _ => 1.0,
    }
}

/// Returns the width of the widest name within these limits.
pub(crate) fn widest<'n>(names: impl IntoIterator<Item = &'n str>, (least, most): (f64, f64)) -> f64 {
    names.into_iter().map(width).fold(least, f64::max).min(most)
}

/// Returns as much of a name as fits into `room` pixels: its beginning and its end, which tell the subject and the run.
pub(crate) fn abbreviated(name: &str, room: f64) -> String {
    if width(name) <= room {
        return name.to_owned();
    }
    let all: Vec<char> = name.chars().collect();
    let part = |kept: usize| -> String {
        let tail = (kept / 2).saturating_sub(1);
        all[..kept - tail].iter().chain(&['\u{2026}']).chain(&all[all.len() - tail..]).collect()
    };
    (1..all.len()).rev().map(part).find(|text| width(text) <= room).unwrap_or_else(|| part(1))
}

/// Returns the last parts of paths that all names have in common, with the slash before them: `/two-cpus`. It is empty if
/// a name would be nothing but that, and for a single name.
pub(crate) fn common_tail<'n>(names: &[&'n str]) -> &'n str {
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else { return "" };
    let tails = first.match_indices('/').map(|(at, _)| &first[at..]);
    let ends = |name: &str, tail: &str| name.len() > tail.len() && name.ends_with(tail);
    tails.into_iter().find(|tail| ends(first, tail) && others.iter().all(|name| ends(name, tail))).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_both_of_its_ends() {
        assert_eq!(abbreviated("pipe", 90.0), "pipe");
        assert_eq!(abbreviated("streams-pipe \u{b7} after", 100.0), "streams-\u{2026}after");
        assert_eq!(abbreviated("pipe", 1.0), "p\u{2026}", "something is left without room too");
    }

    #[test]
    fn an_abbreviated_name_fits() {
        let name = "named-semaphore/sync/process-2/two-cpus";
        for room in (20..300).step_by(7).map(f64::from) {
            assert!(width(&abbreviated(name, room)) <= room, "{room}");
        }
    }

    /// The widths in DejaVu Sans at 12 pixels, as a browser measures them.
    #[test]
    fn the_estimate_is_no_smaller_than_the_widest_font() {
        for (text, measured) in [
            ("streams-pipe \u{b7} r1", 102.6),
            ("unix-seqpacket \u{b7} after", 131.2),
            ("WMW%mw@", 79.0),
            ("named-semaphore/sync/process-2/two-cpus", 265.5),
        ] {
            assert!((measured..measured * 1.12).contains(&width(text)), "{text}: {}", width(text));
        }
    }

    #[test]
    fn what_all_rows_have_in_common_is_at_their_end() {
        assert_eq!(common_tail(&["pipe/rtt/64/two-cpus", "fifo/rtt/4096/two-cpus"]), "/two-cpus");
        assert_eq!(common_tail(&["pipe/rtt/64/two-cpus", "fifo/rtt/64/two-cpus"]), "/rtt/64/two-cpus");
        assert_eq!(common_tail(&["pipe/rtt/64/two-cpus", "pipe/rtt/64/same-cpu"]), "");
        assert_eq!(common_tail(&["pipe/rtt", "/rtt"]), "", "nothing of the second name would be left");
        assert_eq!(common_tail(&["pipe/rtt"]), "");
        assert_eq!(common_tail(&[]), "");
    }
}

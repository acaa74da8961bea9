//! Parses and prints durations: `100ms`, `2s`, `1.5s`, `3m`, `2m30s`, `250us`; a bare number is seconds.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest duration that an option accepts: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// A positive duration in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seconds, String> {
        let wrong = || format!("{text:?} is not a duration; write it like 100ms, 2s, 3m or 2m30s");
        let (mut rest, mut seconds, mut least) = (text.trim(), 0.0, f64::INFINITY);
        while !rest.is_empty() {
            let end = |start: usize, is_part: fn(char) -> bool| {
                rest[start..].find(|letter| !is_part(letter)).map_or(rest.len(), |end| start + end)
            };
            let digits = end(0, |letter| letter.is_ascii_digit() || letter == '.');
            let unit = end(digits, |letter| !letter.is_ascii_digit());
            let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
            let factor = match rest[digits..unit].trim() {
                "us" => 1e-6,
                "ms" => 1e-3,
                "" | "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(wrong()),
            };
            // Larger units must come first, and each at most once.
            if factor >= least {
                return Err(wrong());
            }
            (seconds, least, rest) = (seconds + number * factor, factor, &rest[unit..]);
        }
        if text.trim().is_empty() {
            return Err(wrong());
        }
        if seconds > 0.0 && seconds <= SECONDS_MAX {
            Ok(Seconds(seconds))
        } else {
            Err(format!("{text:?} is not more than 0 and at most a day; write it like 100ms, 2s or 3m"))
        }
    }
}

impl TryFrom<String> for Seconds {
    type Error = String;

    fn try_from(text: String) -> Result<Seconds, String> {
        text.parse()
    }
}

impl From<Seconds> for String {
    fn from(seconds: Seconds) -> String {
        format!("{}s", seconds.0)
    }
}

/// Formats a duration for a message: `85 ms`, `1.2 s`, `4 min 10 s`.
pub fn words(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 100.0 => format!("{s:.0} s"),
        s => {
            let whole = s.round() as u64;
            format!("{} min {} s", whole / 60, whole % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Seconds, words};

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, seconds) in
            [("100ms", 0.1), ("2s", 2.0), ("2", 2.0), ("1.5 s", 1.5), ("3m", 180.0), ("250us", 0.00025)]
                .into_iter()
                .chain([("2m30s", 150.0), ("1h 5 min", 3900.0)])
        {
            let read = text.parse::<Seconds>().expect(text).0;
            assert!((read - seconds).abs() < 1e-12, "{text}: {read}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_reason() {
        for text in [
            "",
            "s",
            "-1s",
            "1.2.3s",
            "5 parsecs",
            "1e3",
            "0",
            "0s",
            "inf",
            "NaN",
            "2d",
            "90000s",
            "30s2m",
            "1s1s",
            "2m-1s",
        ] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }

    #[test]
    fn words_fit_the_length() {
        for (seconds, text) in
            [(0.00005, "50 us"), (0.085, "85 ms"), (1.24, "1.2 s"), (85.3, "85 s"), (250.0, "4 min 10 s")]
        {
            assert_eq!(words(seconds), text);
        }
    }
}

//! Options of a stream in the name of a row's subject: `streams-pipe+4xnullmod+hold`. `perftest` writes such names; the
//! transports over streams apply the options when they open the stream. The name is the whole definition, so that a
//! stored run can be resumed and measured again.

use std::fmt;

use headwater_streams::{Options, Stream, WriteOptions};

/// The character before each option.
const SEPARATOR: char = '+';

/// Options of a stream that differ from those of its transport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// The number and the name of the modules that are pushed on the sender's end: `4xnullmod`.
    pub push: Option<(u32, String)>,
    /// Write coalescing for a sleeping reader at both ends (SNDHOLD): `hold`.
    pub hold: bool,
    /// Read notification at both ends (SNDMREAD): `mread`.
    pub notify: bool,
    /// Reads that wait until their buffer is full, at both ends (RFILL): `readfill`.
    pub fill: bool,
    /// The high-water mark in bytes: `hiwat=65536`.
    pub hiwat: Option<u32>,
    /// The low-water mark in bytes: `lowat=8192`. Without it: half of the high-water mark.
    pub lowat: Option<u32>,
}

/// Returns the name of the transport in a subject's name, and its options as text.
pub fn split(subject: &str) -> (&str, &str) {
    subject.split_once(SEPARATOR).unwrap_or((subject, ""))
}

impl StreamOptions {
    /// Parses the second part of [`split`].
    ///
    /// # Errors
    /// One line that names the word that is no option.
    pub fn parse(text: &str) -> Result<StreamOptions, String> {
        let mut options = StreamOptions::default();
        for word in text.split(SEPARATOR).filter(|word| !word.is_empty()) {
            let wrong = || format!("{word:?} is no option of a stream");
            let bytes = |text: &str| text.parse().map(Some).map_err(|_| wrong());
            match word {
                "hold" => options.hold = true,
                "mread" => options.notify = true,
                "readfill" => options.fill = true,
                _ => match (word.split_once('='), word.split_once('x')) {
                    (Some(("hiwat", value)), _) => options.hiwat = bytes(value)?,
                    (Some(("lowat", value)), _) => options.lowat = bytes(value)?,
                    (None, Some((count, module))) => {
                        let count = count.parse().map_err(|_| wrong())?;
                        options.push = Some((count, module.to_owned()));
                    }
                    _ => return Err(wrong()),
                },
            }
        }
        Ok(options)
    }

    /// Returns the name of a subject: that of the transport, with these options.
    pub fn subject(&self, transport: &str) -> String {
        format!("{transport}{self}")
    }

    /// Returns the parameters of a stream that is to be created: those of `base` with the water marks of these options.
    pub fn parameters(&self, base: Options, hiwat: u32) -> Options {
        let hiwat = self.hiwat.unwrap_or(hiwat);
        base.hiwat(hiwat).lowat(self.lowat.unwrap_or(hiwat / 2))
    }

    /// Pushes the modules on the sender's end, and sets the options of both heads.
    ///
    /// # Errors
    /// Errors of the stream: an unknown module, or more modules than a stream may have.
    pub fn apply(&self, sender: &Stream, receiver: &Stream) -> headwater_streams::Result<()> {
        if let Some((count, module)) = &self.push {
            for _ in 0..*count {
                sender.push(module)?;
            }
        }
        for end in [sender, receiver] {
            if self.hold || self.notify {
                let options = end.settings().write_options();
                end.settings().set_write_options(with_write(options, self.hold, self.notify))?;
            }
            if self.fill {
                end.settings().set_read_options(end.settings().read_options().fill(true))?;
            }
        }
        Ok(())
    }
}

fn with_write(options: WriteOptions, hold: bool, notify: bool) -> WriteOptions {
    let options = if hold { options.hold(true) } else { options };
    if notify { options.notify(true) } else { options }
}

/// Prints the form that [`StreamOptions::parse`] accepts, each option after its separator.
impl fmt::Display for StreamOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((count, module)) = &self.push {
            write!(formatter, "{SEPARATOR}{count}x{module}")?;
        }
        for (is_set, word) in [(self.hold, "hold"), (self.notify, "mread"), (self.fill, "readfill")] {
            if is_set {
                write!(formatter, "{SEPARATOR}{word}")?;
            }
        }
        for (value, word) in [(self.hiwat, "hiwat"), (self.lowat, "lowat")] {
            if let Some(value) = value {
                write!(formatter, "{SEPARATOR}{word}={value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

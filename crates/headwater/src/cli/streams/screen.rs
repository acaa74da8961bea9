//! The terminal as `headwater streams top` uses it: a page that is drawn anew, and single keys. Plain escape sequences of
//! ECMA-48, which every terminal of a Linux machine has.

use std::io::{Stdin, Stdout, Write, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use headwater_os_tools::signal::StopSignals;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::columns::cut;

/// The size of a terminal that does not tell it, columns and lines.
const USUAL: (usize, usize) = (80, 24);

/// Columns and lines of a terminal.
pub(super) fn size(terminal: impl AsFd) -> (usize, usize) {
    match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => USUAL,
    }
}

/// A terminal that shows one page, until this is dropped.
#[derive(Debug)]
pub(super) struct Screen {
    out: Stdout,
    /// The keyboard, and its modes before; None: standard input is something else.
    keys: Option<(Stdin, Termios)>,
}

/// Another page than the shell's, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

impl Screen {
    pub(super) fn enter(out: Stdout) -> std::io::Result<Screen> {
        let input = stdin();
        let keys = rustix::termios::tcgetattr(&input).ok().map(|modes| (input, modes));
        if let Some((input, modes)) = &keys {
            let mut single = modes.clone();
            single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            single.special_codes[SpecialCodeIndex::VMIN] = 1;
            single.special_codes[SpecialCodeIndex::VTIME] = 0;
            // A process that is stopped would leave the terminal as it is now.
            single.special_codes[SpecialCodeIndex::VSUSP] = 0;
            rustix::termios::tcsetattr(input, OptionalActions::Now, &single)?;
        }
        // From here on its drop restores what is changed.
        let mut screen = Screen { out, keys };
        screen.out.write_all(ENTER.as_bytes())?;
        Ok(screen)
    }

    /// Shows these lines from the top of the page on, as many of them as it has room for.
    pub(super) fn draw(&mut self, lines: &[String]) -> std::io::Result<()> {
        let (columns, rows) = size(&self.out);
        let mut page = String::from("\x1b[H");
        for (at, line) in lines.iter().take(rows).enumerate() {
            page += if at > 0 { "\r\n" } else { "" };
            page += &cut(line, columns);
            // Erases the rest of the line.
            page += "\x1b[K";
        }
        page += "\x1b[J";
        self.out.write_all(page.as_bytes())?;
        self.out.flush()
    }

    /// The keyboard, if there is one.
    pub(super) fn keyboard(&self) -> Option<BorrowedFd<'_>> {
        self.keys.as_ref().map(|(input, _)| input.as_fd())
    }

    /// The keys that have been pressed. Called when the keyboard is readable; empty at its end.
    pub(super) fn pressed(&self) -> Vec<u8> {
        let mut bytes = [0; 64];
        let count = self.keyboard().and_then(|input| rustix::io::read(input, &mut bytes).ok());
        bytes[..count.unwrap_or(0)].to_vec()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.out.write_all(LEAVE.as_bytes()).and_then(|()| self.out.flush());
        if let Some((input, modes)) = &self.keys {
            let _ = rustix::termios::tcsetattr(input, OptionalActions::Now, modes);
        }
    }
}

/// What has ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The time is over.
    Time,
    /// One of the descriptors is readable, or at its end.
    Ready,
    /// This process is to stop.
    Stop,
}

/// Waits until a time, for one of these descriptors, or for a signal to stop. Without a time for ever.
pub(super) fn wait(stop: &StopSignals, until: Option<Instant>, ready: &[BorrowedFd<'_>]) -> std::io::Result<Woken> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
        let mut polled = vec![PollFd::new(stop, PollFlags::IN)];
        polled.extend(ready.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
        match rustix::event::poll(&mut polled, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) if !polled[0].revents().is_empty() => return Ok(Woken::Stop),
            Ok(0) => return Ok(Woken::Time),
            Ok(_) => return Ok(Woken::Ready),
        }
    }
}

/// The shortest time between two looks at all processes: a look takes some milliseconds.
pub(super) const INTERVAL_MIN: Duration = Duration::from_millis(50);

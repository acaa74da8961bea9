//! `ptem`: the terminal that a pseudo-terminal's slave does not have. Pushed on the slave's side first, before `ldterm`, it keeps the
//! settings and the window size, and answers the ioctls for them from both sides: of the slave's processes, and of the master's,
//! which come up from the driver.
//!
//! - TCGETS, TCSETS, TCSETSW, TCSETSF, their `termio` and `termios2` kin, TIOCGWINSZ, TIOCSWINSZ, TCSBRK, and TIOCSIG from the
//!   master's side. A TCSETSW has waited in `ldterm` until what was written before it has passed.
//! - A change of the window size raises SIGWINCH at the slave's head.
//! - A write of no bytes goes no further: at the master it would say that the slave was closed.
//!
//! Written from ptem(7) and termio(7) of SVR4's manuals, and from ioctl_tty(2).

use crate::termios::numbers::*;
use crate::termios::{self, Notice, TERMIO, TERMIOS, TERMIOS2, Termios};
use headwater_streams::{Errno, IoctlBlock, Kind, Message, MessageHeader, Module, ModuleInfo, Queue, Result, Side};

/// The memory: the window size, and the settings.
const WINDOW: usize = 0;
const SETTINGS: usize = 8;
/// Bytes of `struct winsize`: rows, columns and two that have no effect, as 16-bit numbers.
const WINSIZE: usize = 8;

/// The module.
#[derive(Debug)]
pub struct TerminalEmulation;

impl Module for TerminalEmulation {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("ptem").instance(SETTINGS + termios::STORED)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let side = queue.side();
        match message.header.kind {
            Kind::Ioctl | Kind::IocData => ioctl(message, queue),
            Kind::Data if side == Side::Write && message.len() == 0 => Ok(()),
            Kind::Control if side == Side::Write && Notice::of(&message) == Some(Notice::Ask) => {
                let termios = settings(queue)?;
                queue.reply(Notice::Settings(termios, false).message())
            }
            // A terminal says by its characters that it takes no more for now.
            Kind::StopInput | Kind::StartInput if side == Side::Write => {
                let place = if message.header.kind == Kind::StopInput { VSTOP } else { VSTART };
                let character = settings(queue)?.characters[place];
                queue.put_next(Message::from_parts(MessageHeader::of(Kind::Data), None, Some(vec![character])))
            }
            _ => queue.put_next(message),
        }
    }
}

fn settings(queue: &Queue<'_, '_, '_>) -> Result<Termios> {
    termios::stored(queue, SETTINGS)
}

/// Sends a message up the slave's side.
fn up(message: Message<'static>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if queue.side() == Side::Read { queue.put_next(message) } else { queue.reply(message) }
}

fn raise(number: u8, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    up(Message::from_parts(MessageHeader::of(Kind::PcSignal), None, Some(vec![number])), queue)
}

fn ioctl<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let command = IoctlBlock::of(&message)?.command;
    match command {
        TCGETS => {
            let termios = settings(queue)?;
            queue.give(&message, &termios.bytes()[..TERMIOS])
        }
        TCGETS2 => {
            let termios = settings(queue)?;
            queue.give(&message, &termios.bytes())
        }
        TCGETA => {
            let termios = settings(queue)?;
            queue.give(&message, &termios.termio())
        }
        TCSETS | TCSETSW => change(&message, queue, TERMIOS, false),
        TCSETSF => change(&message, queue, TERMIOS, true),
        TCSETS2 | TCSETSW2 => change(&message, queue, TERMIOS2, false),
        TCSETSF2 => change(&message, queue, TERMIOS2, true),
        TCSETA | TCSETAW => change(&message, queue, TERMIO, false),
        TCSETAF => change(&message, queue, TERMIO, true),
        TIOCGWINSZ => {
            let mut window = [0; WINSIZE];
            queue.read_instance(WINDOW, &mut window)?;
            queue.give(&message, &window)
        }
        TIOCSWINSZ => {
            let Some(window) = queue.take(&message, WINSIZE)? else { return Ok(()) };
            let mut before = [0; WINSIZE];
            queue.read_instance(WINDOW, &mut before)?;
            if window != before {
                queue.write_instance(WINDOW, &window)?;
                raise(SIGWINCH, queue)?;
            }
            queue.acknowledge(&message, 0, None)
        }
        TCSBRK | TCSBRKP => {
            // With another argument than 0, TCSBRK is tcdrain(3).
            if queue.side() == Side::Write && (command == TCSBRKP || IoctlBlock::argument(&message) == 0) {
                queue.put_next(Message::from_parts(MessageHeader::of(Kind::Break), None, None))?;
            }
            queue.acknowledge(&message, 0, None)
        }
        TIOCSIG if queue.side() == Side::Read => match IoctlBlock::argument(&message) {
            number @ 1..64 => {
                raise(number as u8, queue)?;
                queue.acknowledge(&message, 0, None)
            }
            _ => queue.refuse(&message, Errno::Inval),
        },
        // One of the master's that no terminal knows.
        _ if queue.side() == Side::Read && message.header.kind == Kind::Ioctl => queue.refuse(&message, Errno::Inval),
        _ if queue.side() == Side::Read => Ok(()),
        _ => queue.put_next(message),
    }
}

/// Takes new settings, of so many bytes, and tells `ldterm`, which knows them before the caller has its answer.
fn change(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>, len: usize, discards: bool) -> Result<()> {
    let Some(bytes) = queue.take(message, len)? else { return Ok(()) };
    let before = settings(queue)?;
    let termios = before.with(&bytes).unwrap_or(before);
    termios::store(queue, SETTINGS, &termios)?;
    up(Notice::Settings(termios, discards).message(), queue)?;
    queue.acknowledge(message, 0, None)
}

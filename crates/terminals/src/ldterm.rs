//! `ldterm`: the line discipline of a terminal. Pushed on `ptem`, it makes lines of what comes up (ICANON), echoes it, raises
//! signals, stops and starts the output, and processes what is written (OPOST). The rules are in `input` and `output`, which know
//! no message; this file moves messages.
//!
//! - Each line is a message behind which a read stops, and the end of the file is one of no bytes.
//! - Without ICANON what was typed is readable when it is enough (MIN), or the time between two bytes is over (TIME). With a MIN of
//!   0 an empty reader asks by M_READ, and is answered by a message of no bytes, at once or when the time is over.
//! - What is echoed goes through the write queue, behind what was written before.
//! - A signal is an M_PCSIG; both directions are flushed before it, unless NOFLSH.
//!
//! Written from ldterm(7) and termio(7) of SVR4's manuals, and POSIX, "General Terminal Interface".

use std::time::Duration;

use self::input::{Event, Input, Line};
use self::memory::{Flag, flag, set_flag};
use crate::termios::numbers::*;
use crate::termios::{Notice, Termios};
use headwater_streams::{
    Errno, Flush, IoctlBlock, Kind, Message, MessageHeader, Module, ModuleInfo, Queue, Result, SetOptions, Side,
};

pub(crate) mod input;
mod memory;
pub(crate) mod output;
#[cfg(test)]
mod tests;

/// The unit of TIME.
const TENTH: Duration = Duration::from_millis(100);
/// Written bytes that are processed at a time: what is sent for them, at most eight times as much (XTABS), is no longer than any
/// message may be.
const PIECE: usize = 4096;

/// The module.
#[derive(Debug)]
pub struct LineDiscipline;

impl Module for LineDiscipline {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("ldterm").service(Side::Read).service(Side::Write).instance(memory::BYTES)
    }

    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        // Without an answer the settings are those of a new terminal.
        queue.put_next(Notice::Ask.message())
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match queue.side() {
            Side::Read => put_up(message, queue),
            Side::Write => put_down(message, queue),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        match queue.side() {
            Side::Read => serve_up(queue),
            Side::Write => serve_down(queue),
        }
    }

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Write {
            // Of a read that waits for the first byte.
            return if flag(queue, Flag::HasCome)? { Ok(()) } else { queue.reply(data(&[], false)) };
        }
        let line = memory::line(queue)?;
        if memory::settings(queue)?.has_local(ICANON) || line.bytes.is_empty() {
            return Ok(());
        }
        memory::set_line(queue, &Line::default())?;
        queue.put_next(data(&line.bytes, false))
    }
}

/// A message of bytes; one that is a line is not joined with others.
fn data(bytes: &[u8], is_line: bool) -> Message<'static> {
    let mut message = Message::from_parts(MessageHeader::of(Kind::Data), None, Some(bytes.to_vec()));
    (message.header.whole, message.header.delimited) = (is_line, is_line);
    message
}

fn flush_of(flush: Flush) -> Message<'static> {
    Message::from_parts(MessageHeader::of(Kind::Flush), None, Some(flush.bytes().to_vec()))
}

// What comes up.

fn put_up<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match message.header.kind {
        Kind::Data | Kind::Break => {
            if queue.size(0).0 == 0 && queue.can_put_next(0)? {
                return receive(message, queue);
            }
            let termios = memory::settings(queue)?;
            let is_signal = |byte: &u8| input::signal_of(&termios, *byte).is_some();
            if !termios.has_local(NOFLSH) && message.data().unwrap_or_default().iter().any(is_signal) {
                // It discards what waits before it, and does not wait.
                return receive(message, queue);
            }
            if termios.has_input(IXOFF) && !flag(queue, Flag::InputStopped)? {
                set_flag(queue, Flag::InputStopped, true)?;
                queue.put_other_queue(&Message::from_parts(MessageHeader::of(Kind::StopInput), None, None))?;
            }
            queue.put_queue(message)
        }
        Kind::Control => match Notice::of(&message) {
            Some(Notice::Settings(termios, discards)) => change(termios, discards, queue),
            _ => queue.put_next(message),
        },
        Kind::Flush => {
            queue.flush_as(&message)?;
            if Flush::of(&message).read {
                memory::set_line(queue, &Line::default())?;
            }
            queue.put_next(message)
        }
        kind if kind.is_high_priority() || queue.size(0).0 == 0 => queue.put_next(message),
        _ => queue.put_queue(message),
    }
}

fn serve_up(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    while let Some(message) = queue.get()? {
        match message.header.kind {
            Kind::Control if Notice::of(&message) == Some(Notice::Discard) => {
                memory::set_line(queue, &Line::default())?;
            }
            kind if !kind.is_high_priority() && !queue.can_put_next(message.header.band)? => {
                return queue.put_back(&message);
            }
            Kind::Data | Kind::Break => receive(message, queue)?,
            _ => queue.put_next(message)?,
        }
    }
    if flag(queue, Flag::InputStopped)? {
        set_flag(queue, Flag::InputStopped, false)?;
        queue.put_other_queue(&Message::from_parts(MessageHeader::of(Kind::StartInput), None, None))?;
    }
    Ok(())
}

/// Takes typed bytes, or a break.
fn receive<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let termios = memory::settings(queue)?;
    let is_break = message.header.kind == Kind::Break;
    if input::is_plain(&termios) && !is_break && !memory::has_line(queue)? {
        return queue.put_next(message);
    }
    if !termios.has_local(ICANON) && termios.characters[VMIN] == 0 {
        set_flag(queue, Flag::HasCome, true)?;
    }
    let before = memory::line(queue)?;
    let mut line = before.clone();
    let (is_stopped, column) = (flag(queue, Flag::Stopped)?, memory::column(queue)?);
    let mut input = Input { termios: &termios, line: &mut line, is_stopped, column, events: Vec::new() };
    if is_break {
        input.take_break()
    } else {
        input.take(message.data().unwrap_or_default())
    }
    let events = input.events;
    if line != before {
        memory::set_line(queue, &line)?;
    }
    wait_for_more(&termios, &line, queue);
    events.into_iter().try_for_each(|event| perform(event, &termios, queue))
}

/// Without ICANON: how long the bytes that are not enough wait for the next one.
fn wait_for_more(termios: &Termios, line: &Line, queue: &mut Queue<'_, '_, '_>) {
    let tenths = u32::from(termios.characters[VTIME]);
    if termios.has_local(ICANON) || tenths == 0 {
        return;
    }
    if line.bytes.is_empty() {
        queue.forget_time();
    } else {
        queue.enable_after(TENTH * tenths);
    }
}

fn perform(event: Event, termios: &Termios, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    match event {
        Event::Ready(bytes) => queue.put_next(data(&bytes, termios.has_local(ICANON))),
        Event::Echo(bytes) => echo(&data(&bytes, false), queue),
        Event::Stop => {
            set_flag(queue, Flag::Stopped, true)?;
            echo(&Message::from_parts(MessageHeader::of(Kind::Stop), None, None), queue)
        }
        Event::Start => {
            set_flag(queue, Flag::Stopped, false)?;
            queue.enable_other();
            echo(&Message::from_parts(MessageHeader::of(Kind::Start), None, None), queue)
        }
        Event::Signal { number, flushes } => {
            if flushes {
                queue.flush_as(&flush_of(Flush::ALL))?;
                queue.put_next(flush_of(Flush::READ))?;
                echo(&flush_of(Flush::WRITE), queue)?;
            }
            queue.put_next(Message::from_parts(MessageHeader::of(Kind::PcSignal), None, Some(vec![number])))
        }
    }
}

/// Sends a message down behind what was written before. An echo for which there is no room is not sent.
fn echo(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if !message.header.kind.is_high_priority() && !queue.can_put_other(0)? {
        return Ok(());
    }
    match queue.put_other_queue(message) {
        Err(error) if error.errno() == Errno::Nosr => Ok(()),
        put => put,
    }
}

/// The settings have changed, and the caller waits for its answer, which comes up behind this.
fn change(termios: Termios, discards: bool, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let before = memory::settings(queue)?;
    memory::set_settings(queue, &termios)?;
    if discards {
        queue.flush_as(&flush_of(Flush::READ))?;
        memory::set_line(queue, &Line::default())?;
        queue.put_next(flush_of(Flush::READ))?;
    }
    let asks = |termios: &Termios| !termios.has_local(ICANON) && termios.characters[VMIN] == 0;
    if asks(&termios) != asks(&before) {
        let notify = Some(u32::from(asks(&termios)));
        let mut options = SetOptions::new();
        options.notify = notify;
        queue.put_next(options.message())?;
    }
    if !termios.has_input(IXON) && flag(queue, Flag::Stopped)? {
        perform(Event::Start, &termios, queue)?;
    }
    let line = memory::line(queue)?;
    let enough = usize::from(termios.characters[VMIN]).max(1);
    let was_canonical = before.has_local(ICANON);
    if !termios.has_local(ICANON) && !line.bytes.is_empty() && (was_canonical || line.bytes.len() >= enough) {
        // What was typed of a line is readable without its end.
        memory::set_line(queue, &Line::default())?;
        queue.put_next(data(&line.bytes, false))?;
    }
    Ok(())
}

// What goes down.

fn put_down<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match message.header.kind {
        Kind::Data if !has_to_wait(&message, queue)? => send(message, queue),
        Kind::Data => queue.put_queue(message),
        Kind::Ioctl => ioctl(message, queue),
        Kind::Read => read_asks(queue),
        Kind::Flush => {
            queue.flush_as(&message)?;
            if Flush::of(&message).read {
                queue.put_other_queue(&Notice::Discard.message())?;
            }
            queue.put_next(message)
        }
        Kind::Stop | Kind::Start => {
            set_stopped(message.header.kind == Kind::Stop, queue)?;
            queue.put_next(message)
        }
        kind if kind.is_high_priority() || queue.size(0).0 == 0 => queue.put_next(message),
        _ => queue.put_queue(message),
    }
}

/// Whether a message waits for those before it, for the output to be started, or for room.
fn has_to_wait(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
    Ok(queue.size(0).0 > 0 || flag(queue, Flag::Stopped)? || !queue.can_put_next(message.header.band)?)
}

fn serve_down(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    while let Some(message) = queue.get()? {
        let MessageHeader { kind, band, .. } = message.header;
        if !kind.is_high_priority() && (flag(queue, Flag::Stopped)? || !queue.can_put_next(band)?) {
            return queue.put_back(&message);
        }
        if kind == Kind::Data { send(message, queue)? } else { queue.put_next(message)? }
    }
    Ok(())
}

/// Sends written bytes down, processed (OPOST).
fn send<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let termios = memory::settings(queue)?;
    if output::is_plain(&termios) || message.len() == 0 {
        return queue.put_next(message);
    }
    let mut column = memory::column(queue)?;
    for piece in message.data().unwrap_or_default().chunks(PIECE) {
        let sent = output::process(&termios, piece, &mut column);
        queue.put_next(Message::from_parts(message.header, None, Some(sent)))?;
    }
    memory::set_column(queue, column)
}

fn set_stopped(stops: bool, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    set_flag(queue, Flag::Stopped, stops)?;
    if !stops {
        queue.enable();
    }
    Ok(())
}

/// An empty reader asks for data: with a MIN of 0 it is answered in time, whether or not some come.
fn read_asks(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let termios = memory::settings(queue)?;
    if termios.has_local(ICANON) || termios.characters[VMIN] != 0 {
        return Ok(());
    }
    match u32::from(termios.characters[VTIME]) {
        0 => queue.reply(data(&[], false)),
        tenths => {
            set_flag(queue, Flag::HasCome, false)?;
            queue.enable_after(TENTH * tenths);
            Ok(())
        }
    }
}

fn ioctl<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match IoctlBlock::of(&message)?.command {
        // They come behind what was written before.
        TCSETSW | TCSETSF | TCSETSW2 | TCSETSF2 | TCSETAW | TCSETAF | TCSBRK | TCSBRKP
            if has_to_wait(&message, queue)? =>
        {
            queue.put_queue(message)
        }
        TCFLSH => {
            // TCIFLUSH, TCOFLUSH, TCIOFLUSH.
            let flush = match IoctlBlock::argument(&message) {
                0 => Flush::READ,
                1 => Flush::WRITE,
                2 => Flush::ALL,
                _ => return queue.refuse(&message, Errno::Inval),
            };
            queue.flush_as(&flush_of(flush))?;
            if flush.read {
                queue.put_other_queue(&Notice::Discard.message())?;
                queue.reply(flush_of(Flush::READ))?;
            }
            if flush.write {
                queue.put_next(flush_of(Flush::WRITE))?;
            }
            queue.acknowledge(&message, 0, None)
        }
        TCXONC => {
            match IoctlBlock::argument(&message) {
                // TCOOFF, TCOON, TCIOFF, TCION.
                0 => set_stopped(true, queue)?,
                1 => set_stopped(false, queue)?,
                2 => queue.put_next(Message::from_parts(MessageHeader::of(Kind::StopInput), None, None))?,
                3 => queue.put_next(Message::from_parts(MessageHeader::of(Kind::StartInput), None, None))?,
                _ => return queue.refuse(&message, Errno::Inval),
            }
            queue.acknowledge(&message, 0, None)
        }
        _ => queue.put_next(message),
    }
}

//! Writes the objects of the trace event format. After [`Events::end`] the output is valid JSON for any input.

use std::fmt;
use std::io::{self, Write};

use super::sink::{Sink, Track};
use crate::Value;
use crate::ctf::Record;
use crate::stacks::{self, Modules};

/// Writes the list of events.
pub struct Events<W: Write> {
    out: W,
    /// The time that is subtracted: JavaScript would round absolute times in microseconds.
    origin: u128,
    first: bool,
    arrows: u64,
}

impl<W: Write> Events<W> {
    pub fn begin(mut out: W, origin: u128) -> io::Result<Events<W>> {
        let unit = "\"displayTimeUnit\":\"ns\"";
        write!(out, "{{{unit},\"otherData\":{{\"ns since 1970 at 0\":\"{origin}\"}},\n\"traceEvents\":[\n")?;
        Ok(Events { out, origin, first: true, arrows: 0 })
    }

    fn event(&mut self, phase: &str, track: Track, rest: fmt::Arguments<'_>) -> io::Result<()> {
        let between = if std::mem::take(&mut self.first) { "" } else { ",\n" };
        let Track { pid, tid } = track;
        write!(self.out, "{between}{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},{rest}}}")
    }

    fn time(&self, at: u128) -> Microseconds {
        Microseconds(at.saturating_sub(self.origin))
    }
}

impl<W: Write> Sink for Events<W> {
    fn instant(&mut self, track: Track, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()> {
        let (name, stream, at) = (Text(name), Text(stream), self.time(at));
        self.event("i", track, format_args!("\"s\":\"t\",\"name\":{name},\"cat\":{stream},\"ts\":{at},\"args\":{args}"))
    }

    fn global(&mut self, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()> {
        let (name, stream, at) = (Text(name), Text(stream), self.time(at));
        let rest = format_args!("\"s\":\"g\",\"name\":{name},\"cat\":{stream},\"ts\":{at},\"args\":{args}");
        self.event("i", Track { pid: 0, tid: 0 }, rest)
    }

    fn slice(
        &mut self,
        track: Track,
        name: &str,
        stream: &str,
        (from, to): (u128, u128),
        args: &str,
    ) -> io::Result<()> {
        let (name, stream, at) = (Text(name), Text(stream), self.time(from));
        let long = Microseconds(to.saturating_sub(from));
        let rest = format_args!("\"name\":{name},\"cat\":{stream},\"ts\":{at},\"dur\":{long},\"args\":{args}");
        self.event("X", track, rest)
    }

    fn arrow(&mut self, (track, at): (Track, u128), to: (Track, u128)) -> io::Result<()> {
        self.arrows += 1;
        let (id, at, then) = (self.arrows, self.time(at), self.time(to.1));
        self.event("s", track, format_args!("\"name\":\"wakes\",\"cat\":\"flow\",\"id\":{id},\"ts\":{at}"))?;
        let rest = format_args!("\"bp\":\"e\",\"name\":\"wakes\",\"cat\":\"flow\",\"id\":{id},\"ts\":{then}");
        self.event("f", to.0, rest)
    }

    fn name(&mut self, track: Track, process: &str, thread: &str) -> io::Result<()> {
        for (what, name) in [("process_name", process), ("thread_name", thread)] {
            let name = Text(name);
            self.event("M", track, format_args!("\"name\":\"{what}\",\"args\":{{\"name\":{name}}}"))?;
        }
        Ok(())
    }

    fn counter(&mut self, pid: u32, name: &str, at: u128, value: f64) -> io::Result<()> {
        // JSON has no infinity.
        if !value.is_finite() {
            return Ok(());
        }
        let (name, at) = (Text(name), self.time(at));
        let rest = format_args!("\"name\":{name},\"cat\":\"counter\",\"ts\":{at},\"args\":{{\"value\":{value}}}");
        self.event("C", Track { pid, tid: pid }, rest)
    }

    fn end(mut self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")?;
        self.out.flush()
    }
}

/// Formats nanoseconds as microseconds.
struct Microseconds(u128);

impl fmt::Display for Microseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Formats a JSON string.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}

/// Formats a record's fields and CPU as an object.
pub struct Args<'a>(pub &'a Record<'a>, pub &'a Modules);

impl fmt::Display for Args<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A field may be called `cpu` too, and an object must not contain a key twice. A field's name cannot contain a
        // space.
        write!(formatter, "{{\"on cpu\":{}", self.0.cpu)?;
        for (name, value) in self.0.fields() {
            if stacks::is_stack(name, &value) {
                let frames = self.1.frames(self.0, (name, value));
                let frames = serde_json::to_string(&frames).map_err(|_| fmt::Error)?;
                write!(formatter, ",{}:{frames}", Text(stacks::FIELD))?;
                continue;
            }
            write!(formatter, ",{}:", Text(name))?;
            write_value(formatter, value)?;
        }
        formatter.write_str("}")
    }
}

fn write_value(formatter: &mut fmt::Formatter<'_>, value: Value<'_>) -> fmt::Result {
    // JavaScript rounds larger integers.
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Unsigned { value: number, base: crate::schema::Base::Decimal } if number <= EXACT => {
            write!(formatter, "{number}")
        }
        Value::Signed(number) if number.unsigned_abs() <= EXACT => write!(formatter, "{number}"),
        // JSON has no infinity.
        Value::Float(number) if number.is_finite() => write!(formatter, "{number}"),
        Value::Text(bytes) => write!(formatter, "{}", Text(&String::from_utf8_lossy(bytes))),
        Value::Array(items) => {
            formatter.write_str("[")?;
            for (place, item) in items.enumerate() {
                formatter.write_str(if place == 0 { "" } else { "," })?;
                write_value(formatter, item)?;
            }
            formatter.write_str("]")
        }
        other => write!(formatter, "{}", Text(&other.to_string())),
    }
}

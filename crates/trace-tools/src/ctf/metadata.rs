//! The description of a trace in TSDL, the language of CTF 1.8. Written here, parsed in `parse`; the constant parts are
//! defined here once, for both.

mod lex;
mod parse;

use std::fmt::{self, Write as _};

use crate::schema::{Base, EventKind, FieldKind, Schema};

/// The contents of a metadata file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The trace's identity. Tools take two traces with the same uuid for parts of one.
    pub uuid: [u8; 16],
    /// The description of its records.
    pub schema: Schema,
}

/// The first line, by which tools recognise the format.
const SIGNATURE: &str = "/* CTF 1.8 */\n";

/// The text before the trace's uuid.
const TRACE: &str = "trace { major = 1; minor = 8; uuid =";

/// The text after it: the head of every packet, and the names of field types.
const PACKET_AND_TYPES: &str = "; byte_order = le;
  packet.header := struct {
    integer { size = 32; align = 8; signed = false; base = 16; } magic;
    integer { size = 8; align = 8; signed = false; } uuid[16];
    integer { size = 32; align = 8; signed = false; } stream_id;
  };
};

typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 8; align = 8; signed = false; base = 16; } := x8;
typealias integer { size = 16; align = 8; signed = false; base = 16; } := x16;
typealias integer { size = 32; align = 8; signed = false; base = 16; } := x32;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;
typealias integer { size = 8; align = 8; signed = true; } := s8;
typealias integer { size = 16; align = 8; signed = true; } := s16;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = true; } := s64;
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;
";

/// The type of time stamps: the text before and after the clock's name.
const TIME: [&str; 2] =
    ["typealias integer { size = 64; align = 8; signed = false; map = clock.", ".value; } := time;\n"];

/// The text after a stream's id: the context of its packets (`super::packet`) and the head of its records
/// (`crate::record`). The alignment of 8 bytes makes readers skip the padding of the previous record.
const STREAM: &str = ";
  packet.context := struct {
    time timestamp_begin;
    time timestamp_end;
    u64 content_size;
    u64 packet_size;
    u64 packet_seq_num;
    u64 events_discarded;
    u32 cpu_id;
    u32 ring;
    u64 position;
  };
  event.header := struct {
    time timestamp;
    u16 id;
  } align(64);
  event.context := struct {
    u16 len;
    u32 tid;
  };
};
";

/// The prefix of the environment variable with a stream's name; the stream's id follows.
const STREAM_NAME: &str = "headwater_stream_";

impl Metadata {
    /// Parses a metadata file.
    ///
    /// Errors: the first line, from 1, that differs from what [`Metadata::to_text`] writes, and what was expected.
    pub fn parse(text: &str) -> Result<Metadata, (usize, String)> {
        parse::metadata(text)
    }

    /// Returns the text of a metadata file.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a String takes everything");
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let Schema { clock, streams, environment } = &self.schema;
        write!(text, "{SIGNATURE}\n{TRACE} \"{}\"{PACKET_AND_TYPES}\nenv {{\n", hyphened(&self.uuid))?;
        for (id, stream) in streams.iter().enumerate() {
            writeln!(text, "  {STREAM_NAME}{id} = {};", Quoted(&stream.name))?;
        }
        for (name, value) in environment {
            writeln!(text, "  {name} = {};", Quoted(value))?;
        }
        write!(text, "}};\n\nclock {{\n  name = {};\n  freq = {};\n", clock.name, clock.frequency_hz)?;
        write!(text, "  offset_s = {};\n  offset = {};\n", clock.offset_s, clock.offset_ticks)?;
        write!(text, "  absolute = true;\n}};\n\n{}{}{}", TIME[0], clock.name, TIME[1])?;
        for (id, stream) in streams.iter().enumerate() {
            write!(text, "\nstream {{\n  id = {id}{STREAM}")?;
            for event in &stream.events {
                write_event(text, id, event)?;
            }
        }
        Ok(())
    }
}

fn write_event(text: &mut String, stream: usize, event: &EventKind) -> fmt::Result {
    write!(text, "\nevent {{\n  name = {};\n  id = {};\n  stream_id = {stream};\n", Quoted(&event.name), event.id)?;
    writeln!(text, "  fields := struct {{")?;
    for field in &event.fields {
        text.push_str("    ");
        // Readers remove the first underscore. It permits fields with the name of a keyword.
        match &field.kind {
            FieldKind::Array { item, count } => {
                write_type(text, item)?;
                writeln!(text, " _{}[{count}];", field.name)?;
            }
            kind => {
                write_type(text, kind)?;
                writeln!(text, " _{};", field.name)?;
            }
        }
    }
    text.push_str("  };\n};\n");
    Ok(())
}

fn write_type(text: &mut String, kind: &FieldKind) -> fmt::Result {
    let bits = |bytes: u8| u32::from(bytes) * 8;
    match kind {
        FieldKind::Unsigned { bytes, base: Base::Decimal } => write!(text, "u{}", bits(*bytes)),
        FieldKind::Unsigned { bytes, base: Base::Hexadecimal } => write!(text, "x{}", bits(*bytes)),
        FieldKind::Signed { bytes } => write!(text, "s{}", bits(*bytes)),
        FieldKind::Float { bytes } => write!(text, "f{}", bits(*bytes)),
        FieldKind::Text => text.write_str("string"),
        FieldKind::Named { bytes, names } => {
            write!(text, "enum : u{} {{ ", bits(*bytes))?;
            for (place, (value, name)) in names.iter().enumerate() {
                write!(text, "{}{} = {value}", if place == 0 { "" } else { ", " }, Quoted(name))?;
            }
            text.write_str(" }")
        }
        FieldKind::Array { .. } => unreachable!("arrays of arrays are refused by Schema::check"),
    }
}

/// Formats a uuid with hyphens.
fn hyphened(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Formats a string literal. Control characters except those handled here are refused by [`Schema::check`].
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => formatter.write_str("\\\""),
                '\\' => formatter.write_str("\\\\"),
                '\n' => formatter.write_str("\\n"),
                '\t' => formatter.write_str("\\t"),
                other => formatter.write_char(other),
            }?;
        }
        formatter.write_char('"')
    }
}

#[cfg(test)]
mod tests;

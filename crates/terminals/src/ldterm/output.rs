//! What a terminal makes of written bytes (OPOST): the pure part, which knows no message.

use crate::termios::Termios;
use crate::termios::numbers::*;

/// Columns between two tabs.
const TAB: u32 = 8;

/// The bytes that are sent for these, and the column in which the cursor then stands.
///
/// Rule: POSIX, "Output Modes".
pub(crate) fn process(termios: &Termios, bytes: &[u8], column: &mut u32) -> Vec<u8> {
    let mut sent = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    for byte in bytes {
        process_byte(termios, *byte, column, &mut sent);
    }
    sent
}

/// Whether all bytes are sent as they are, and the column does not matter.
pub(crate) fn is_plain(termios: &Termios) -> bool {
    !termios.has_output(OPOST)
}

fn process_byte(termios: &Termios, byte: u8, column: &mut u32, sent: &mut Vec<u8>) {
    match byte {
        b'\n' if termios.has_output(ONLCR) => {
            *column = 0;
            sent.extend(b"\r\n");
        }
        b'\n' => {
            if termios.has_output(ONLRET) {
                *column = 0;
            }
            sent.push(b'\n');
        }
        b'\r' if termios.has_output(ONOCR) && *column == 0 => {}
        b'\r' if termios.has_output(OCRNL) => {
            if termios.has_output(ONLRET) {
                *column = 0;
            }
            sent.push(b'\n');
        }
        b'\r' => {
            *column = 0;
            sent.push(b'\r');
        }
        b'\t' => {
            let spaces = TAB - *column % TAB;
            *column = column.wrapping_add(spaces);
            if termios.has_output(XTABS) && termios.output & XTABS == XTABS {
                sent.extend(std::iter::repeat_n(b' ', spaces as usize));
            } else {
                sent.push(b'\t');
            }
        }
        8 => {
            *column = column.saturating_sub(1);
            sent.push(8);
        }
        byte => {
            *column = column.wrapping_add(width(termios, byte));
            sent.push(if termios.has_output(OLCUC) { byte.to_ascii_uppercase() } else { byte });
        }
    }
}

/// Columns that a byte takes when it is sent as it is: a control character none, and of a character of several bytes (IUTF8) the
/// first one.
pub(crate) fn width(termios: &Termios, byte: u8) -> u32 {
    u32::from(byte >= 0x20 && byte != 0x7f && !is_rest(termios, byte))
}

/// Whether a byte continues the character before it.
pub(crate) fn is_rest(termios: &Termios, byte: u8) -> bool {
    termios.has_input(IUTF8) && byte & 0xc0 == 0x80
}

/// The column behind a tab that is sent in a column.
pub(crate) fn after_tab(column: u32) -> u32 {
    column.wrapping_add(TAB - column % TAB)
}

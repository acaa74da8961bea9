//! Records with the stack of the calling thread, before the fields: its return addresses, or a copy of it.

use headwater_os::scratch::Scratch;
use headwater_os::stack::{self, Registers};

use super::{Place, STACK_COPY, STACK_FRAMES, WITH_STACK, WORDS_MAX, second_word, tag};
use crate::session;

/// Words of an event for which a small array is enough, with a stack.
const FEW: usize = 64 + STACK_FRAMES;

/// Where a record with a copy is made on another stack than the thread's own, which may be small: of handlers that are there at
/// once.
static SCRATCH: [Scratch<WORDS_MAX>; 4] = [const { Scratch::new() }; 4];

/// Writes the record with the stack. `from`: as [`stack::frames`] takes it.
#[cold]
#[inline(never)]
pub(super) fn write(place: Place, words: &[u64], from: u64) {
    if session::copies_stacks(tag(place.0)) {
        // Above are only frames of callers, and not the record in the making. They last as long as their registers are in use:
        // not those of a closure.
        let registers = match stack::registers_of_caller(from) {
            Some(registers) => registers,
            None => stack::registers(),
        };
        return write_with_copy(place, words, std::hint::black_box(&registers));
    }
    let len = words.len() + STACK_FRAMES;
    if len <= FEW {
        with_frames(&mut [0; FEW][..len], place, words, from);
    } else if len <= WORDS_MAX {
        write_long(place, words, from);
    } else {
        session::count_outside(tag(place.0));
    }
}

#[inline(never)]
fn write_long(place: Place, words: &[u64], from: u64) {
    with_frames(&mut [0; WORDS_MAX][..words.len() + STACK_FRAMES], place, words, from);
}

#[inline(always)]
fn with_frames(all: &mut [u64], place: Place, words: &[u64], from: u64) {
    write_in(all, place, words, |stack| stack::frames(stack, from));
}

/// Writes the record in `all`, whose words are those of the event and between head and fields those of its stack. `fill` stores the
/// stack, and returns how many of its first words are addresses of code.
#[inline(always)]
fn write_in(all: &mut [u64], place: Place, words: &[u64], fill: impl FnOnce(&mut [u64]) -> usize) {
    let (fields, id) = (2 + all.len() - words.len(), place.0 & !WITH_STACK);
    all[fields..].copy_from_slice(&words[2..]);
    let addresses = fill(&mut all[2..fields]);
    all[1] = second_word(all.len(), id);
    session::note_modules(tag(id), &all[2..2 + addresses]);
    session::write(tag(id), all);
}

#[inline(never)]
fn write_with_copy(place: Place, words: &[u64], here: &Registers) {
    let len = words.len() + STACK_COPY;
    let is_written = match len {
        _ if len > WORDS_MAX => false,
        _ if stack::is_own() => {
            write_with_copy_here(place, words, here);
            true
        }
        _ => SCRATCH.iter().any(|scratch| scratch.with(|all| with_copy(&mut all[..len], place, words, here)).is_some()),
    };
    if !is_written {
        session::count_outside(tag(place.0));
    }
}

#[inline(never)]
fn write_with_copy_here(place: Place, words: &[u64], here: &Registers) {
    with_copy(&mut [0; WORDS_MAX][..words.len() + STACK_COPY], place, words, here);
}

#[inline(always)]
fn with_copy(all: &mut [u64], place: Place, words: &[u64], here: &Registers) {
    write_in(all, place, words, |stack| {
        // Which words are return addresses is not known here, but where the tracer is.
        usize::from(stack::copy(stack, here) > 0)
    });
}

//! The events of a program. [`events!`](crate::events!) declares them; each costs one load and one branch where it stands
//! as long as no session records it.
//!
//! Programs only read the items of this module; they make no [`Event`] themselves. The macro, the C library and the
//! layer for `tracing` use the functions that this documentation leaves out.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use headwater_os::arena;
use headwater_os::rseq::SHORT;

use crate::record::{HEAD, RECORD_MAX};
use crate::session::{self, AT_ONCE};

mod stacked;
mod value;

#[doc(hidden)]
pub use value::{SHORT_TEXT_MAX, Words};
pub use value::{TEXT_MAX, Type, Value};

/// No session records it.
const OFF: u32 = 0;
/// It has not been hit yet, so whether it is recorded is not known.
const UNKNOWN: u32 = 1;
/// A thread makes it known; above it the mark of that thread's process ([`session::process_mark`]).
const BUSY: u32 = 2;
/// No session records it, but one may later, because the process is in a session whose recorder can switch events.
const WATCHED: u32 = 3;
/// The lowest tag of a session. An event that is recorded has the session's tag and above it its id there.
pub(crate) const ON: u8 = 4;
/// The tag of an event that several sessions record, or one that has no room for its kind: `places` has the details.
const SEVERAL: u8 = 0xff;
const _: () = assert!(session::SESSIONS < (SEVERAL - ON) as usize);

/// The id of a kind of event in a session that has no room for it: each event of it is counted as lost.
const NOWHERE: u32 = 0xff_ffff;

/// In a place: the records have a stack.
const WITH_STACK: u32 = 1 << 31;

/// The return addresses in a record with a stack; unused ones are 0.
#[doc(hidden)]
pub const STACK_FRAMES: usize = 32;

/// The words of a record with a copy of the stack: three registers ([`headwater_os::stack::Registers`]), then the stack from the second of
/// them on. Unused ones are 0.
#[doc(hidden)]
pub const STACK_COPY: usize = 384;

/// The event by which a trace says where a program has mapped its executable files.
#[doc(hidden)]
pub const MODULE: &str = "headwater:module";
pub(crate) const MODULE_FIELDS: &[(&str, Type)] = &[
    ("pid", Type::Unsigned(4)),
    ("base", Type::Unsigned(8)),
    ("start", Type::Unsigned(8)),
    ("end", Type::Unsigned(8)),
    ("changed", Type::Unsigned(8)),
    ("build_id", Type::Text),
    ("path", Type::Text),
];
/// The field of a stack, and that of its copy. An event that has a field of that name is recorded without.
#[doc(hidden)]
pub const STACK: &str = "stack";
#[doc(hidden)]
pub const COPY: &str = "stack_copy";

/// The event by which a thread identifies itself.
#[doc(hidden)]
pub const THREAD: &str = "headwater:thread";
pub(crate) const THREAD_FIELDS: &[(&str, Type)] = &[("pid", Type::Unsigned(4)), ("name", Type::Text)];
pub(crate) const THREAD_WORDS: usize = entry_words(&[4, SHORT_TEXT_MAX + 1]);

/// How often a thread yields while another makes the event known, before it counts its own event as lost.
const YIELDS: u32 = 100_000;

/// Words of the longest event: those of the longest record.
#[doc(hidden)]
pub const WORDS_MAX: usize = RECORD_MAX / 8;

/// A kind of event of this process, and whether a session records it.
///
/// [`events!`](crate::events!) puts one into a static for each event that it declares. For an event `answered` that is
/// `answered::EVENT`.
///
/// ```
/// use headwater_trace::event::Type;
///
/// headwater_trace::events! {
///     /// A request has been answered.
///     answered("shop:answered") { request: u64, path: &str }
/// }
///
/// assert_eq!(answered::EVENT.name(), "shop:answered");
/// assert_eq!(answered::EVENT.fields(), [("request", Type::Unsigned(8)), ("path", Type::Text)]);
/// ```
#[derive(Debug)]
pub struct Event {
    /// [`OFF`], [`UNKNOWN`], [`BUSY`], [`WATCHED`], [`SEVERAL`], or the session's tag (from [`ON`] on) and above it the event's id there.
    state: AtomicU32,
    /// For each session that the process is in, where it is recorded there ([`Place`]); 0: not.
    places: [AtomicU32; AT_ONCE],
    /// Such as `headwater:put`.
    name: &'static str,
    /// Names and types of its fields.
    fields: &'static [(&'static str, Type)],
    /// Follows `state` for a call site in another language: 0 if no session records it.
    mirror: Option<&'static AtomicU32>,
}

/// The destination of an event in a session: the session's tag, and above it the event's id there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// `id`: None if the session has no room for this kind of event.
    pub fn new(tag: u8, id: Option<u32>) -> Place {
        Place(id.unwrap_or(NOWHERE) << 8 | u32::from(tag))
    }

    /// The same, for records with a stack.
    pub fn with_stack(self) -> Place {
        Place(self.0 | WITH_STACK)
    }

    fn is_there(self) -> bool {
        self.0 >> 8 != NOWHERE
    }

    fn has_stack(self) -> bool {
        self.is_there() && self.0 & WITH_STACK != 0
    }
}

impl Event {
    /// Returns the name, a provider and an event with a colon between them.
    ///
    /// ```
    /// headwater_trace::events! { started("shop:started") {} }
    ///
    /// assert_eq!(started::EVENT.name(), "shop:started");
    /// ```
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the names and types of the fields, in the order in which a record has them.
    ///
    /// ```
    /// use headwater_trace::event::Type;
    ///
    /// headwater_trace::events! { sold("shop:sold") { cents: i64 } }
    ///
    /// assert_eq!(sold::EVENT.fields(), [("cents", Type::Signed(8))]);
    /// ```
    pub const fn fields(&self) -> &'static [(&'static str, Type)] {
        self.fields
    }

    /// Returns whether a session records the event now. For a program that computes the fields only then.
    ///
    /// The first call joins the session that the environment names, as the first hit of an event does. May be called in a
    /// signal handler, once [`init`](crate::init) has returned.
    ///
    /// ```
    /// headwater_trace::events! { state("shop:state") { text: &str } }
    ///
    /// if state::EVENT.is_recorded() {
    ///     state(&format!("{:?}", std::thread::current()));
    /// }
    /// ```
    #[inline]
    pub fn is_recorded(&'static self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        is_recorded(state) || state != OFF && is_recorded(self.current(state))
    }

    /// An event that has not been hit yet.
    #[doc(hidden)]
    pub const fn new(name: &'static str, fields: &'static [(&'static str, Type)]) -> Event {
        let places = [const { AtomicU32::new(0) }; AT_ONCE];
        Event { state: AtomicU32::new(UNKNOWN), places, name, fields, mirror: None }
    }

    /// Makes an event that is known at run time only. Its memory is never freed, so the caller keeps the reference. `mirror`
    /// becomes 1 when a session records the event and 0 when none does. None if the name is no provider and event, or the
    /// fields have no place in a record or no names of their own. May be called in a signal handler.
    #[doc(hidden)]
    pub fn make(name: &str, fields: &[(&str, Type)], mirror: Option<&'static AtomicU32>) -> Option<&'static Event> {
        let sizes = fields.iter().map(|(_, kind)| kind.bytes_max()).sum::<usize>();
        let are_apart = fields
            .iter()
            .enumerate()
            .all(|(at, (field, _))| is_identifier(field) && fields[..at].iter().all(|(other, _)| other != field));
        if !is_name(name) || !are_apart || sizes > FIELDS_MAX {
            return None;
        }
        // No field has an empty name: an empty name means that there was no memory.
        let kept = fields.iter().map(|(field, kind)| (arena::keep_text(field).unwrap_or_default(), *kind));
        let fields = arena::keep_all(kept)?;
        if fields.iter().any(|(field, _)| field.is_empty()) {
            return None;
        }
        arena::keep(Event { mirror, ..Event::new(arena::keep_text(name)?, fields) })
    }

    /// Whether to make an entry: the event is recorded, or that is not known yet.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OFF
    }

    /// Writes a record of `len` bytes whose fields are filled in.
    #[doc(hidden)]
    #[inline(always)]
    pub fn write<const N: usize>(&'static self, mut words: Words<N>, len: usize) {
        // Acquire pairs with the Release in `switch`: the session and the event's place in it are there.
        let state = self.state.load(Ordering::Acquire);
        if N <= SHORT {
            return self.write_short(state, words);
        }
        self.write_anyway(state, &mut words[..len.div_ceil(8)]);
    }

    /// For few words. The rare case comes last and takes its arguments in registers: so there is no stack frame, which
    /// would cost a tenth of the event.
    #[inline(always)]
    fn write_short<const N: usize>(&'static self, state: u32, mut words: Words<N>) {
        let [third, fourth] = [2, 3].map(|place| words.get(place).copied().unwrap_or_default());
        words[1] = second_word(N, state);
        // For an event that is off, the tag belongs to no session.
        session::write_short(tag(state), words, move || self.write_otherwise::<N>(words[0], third, fourth));
    }

    #[cold]
    #[inline(never)]
    fn write_otherwise<const N: usize>(&'static self, first: u64, third: u64, fourth: u64) {
        self.write_anyway(self.state.load(Ordering::Acquire), &mut [first, 0, third, fourth][..N]);
    }

    /// Whether its records can have a stack.
    pub(crate) fn may_have_stack(&self) -> bool {
        self.fields.iter().all(|(field, _)| *field != STACK && *field != COPY)
    }

    /// As [`Event::write`], for an event that is known at run time only. The first word may be the frame pointer of the caller,
    /// for a library that is compiled without them. The words from `len` on are 0 up to the next
    /// multiple of 8 bytes.
    ///
    /// # Panics
    /// If `words` are fewer.
    #[doc(hidden)]
    pub fn write_made(&'static self, words: &mut [u64], len: usize) {
        let words = &mut words[..len.div_ceil(8)];
        if let Ok(words) = <&mut Words<4>>::try_from(&mut *words) {
            self.write_made_short(words);
        } else if let Ok(words) = <&mut Words<3>>::try_from(&mut *words) {
            self.write_made_short(words);
        } else if let Ok(words) = <&mut Words<2>>::try_from(&mut *words) {
            self.write_made_short(words);
        } else {
            self.write_anyway(self.state.load(Ordering::Acquire), words);
        }
    }

    /// For so many words. Each length has a function of its own: one for all would save six registers, which costs as much as
    /// the event's stores.
    #[inline(never)]
    fn write_made_short<const N: usize>(&'static self, words: &mut Words<N>) {
        let (state, mut copy) = (self.state.load(Ordering::Acquire), *words);
        copy[1] = second_word(N, state);
        // The rare case takes the words from memory again, so that they occupy no registers.
        let otherwise = move || self.write_anyway(self.state.load(Ordering::Acquire), words);
        session::write_short(tag(state), copy, otherwise);
    }

    /// Writes the record to its sessions, after making the event known.
    #[inline(never)]
    fn write_anyway(&'static self, state: u32, words: &mut [u64]) {
        let state = self.current(state);
        if tag(state) == SEVERAL {
            self.write_to_several(words);
        } else if is_recorded(state) {
            words[1] = second_word(words.len(), state);
            session::write(tag(state), words);
        }
    }

    /// Writes the record to each session that records it.
    #[cold]
    #[inline(never)]
    fn write_to_several(&'static self, words: &mut [u64]) {
        let from = words[0];
        for place in &self.places {
            // Acquire as in `write`.
            match Place(place.load(Ordering::Acquire)) {
                Place(0) => {}
                place if place.has_stack() => stacked::write(place, words, from),
                place if place.is_there() => {
                    words[1] = second_word(words.len(), place.0);
                    session::write(tag(place.0), words);
                }
                place => session::count_outside(tag(place.0)),
            }
        }
    }

    /// The state of the event after whatever must precede a record: it becomes known, or is switched because a recorder has
    /// changed which events its session records.
    fn current(&'static self, state: u32) -> u32 {
        match tag(state) {
            _ if state == OFF => OFF,
            tag if tag >= ON || state == WATCHED => match session::look_again(tag) {
                true => self.state.load(Ordering::Acquire),
                false => state,
            },
            _ => self.become_known(state),
        }
    }

    /// Records it from now on at these places and no others: one for each session that the process is in, always at the same
    /// place of the list. `is_watched`: at none of them, but a session may switch it on.
    pub(crate) fn switch(&self, places: [Option<Place>; AT_ONCE], is_watched: bool) {
        for (place, now) in self.places.iter().zip(places) {
            place.store(now.map_or(0, |now| now.0), Ordering::Release);
        }
        let mut wanted = places.into_iter().flatten();
        let state = match (wanted.next(), wanted.next()) {
            (None, _) if is_watched => WATCHED,
            (None, _) => OFF,
            (Some(place), None) if place.is_there() && !place.has_stack() => place.0,
            _ => SEVERAL.into(),
        };
        self.state.store(state, Ordering::Release);
        if let Some(mirror) = self.mirror {
            mirror.store(u32::from(state != OFF), Ordering::Relaxed);
        }
    }

    /// Makes it one that has not been hit yet.
    pub(crate) fn forget(&self) {
        self.state.store(UNKNOWN, Ordering::Release);
    }

    #[cold]
    #[inline(never)]
    fn become_known(&'static self, state: u32) -> u32 {
        let busy = session::process_mark() << 8 | BUSY;
        // In a forked child the parent's thread that was making it known does not exist.
        let is_free = state == UNKNOWN || tag(state) == BUSY as u8 && state != busy;
        // Before the exchange, for a signal handler that runs right behind it.
        let outer = MAKING_KNOWN.replace(true);
        if session::is_inside() {
            // A signal handler that has interrupted this thread while it joins a session.
            session::count_lost();
        } else if is_free && self.state.compare_exchange(state, busy, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            session::make_known(self);
        } else if outer {
            // A signal handler that has interrupted this thread while it makes an event known.
            session::count_lost();
        } else {
            for _ in 0..YIELDS {
                if self.state.load(Ordering::Acquire) != busy {
                    break;
                }
                std::thread::yield_now();
            }
            // Making it known twice does no harm.
            if self.state.compare_exchange(busy, UNKNOWN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                session::count_lost();
            }
        }
        MAKING_KNOWN.set(outer);
        self.state.load(Ordering::Acquire)
    }
}

thread_local! {
    /// This thread is making an event known.
    static MAKING_KNOWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether it is the state of an event that is recorded.
#[inline(always)]
fn is_recorded(state: u32) -> bool {
    tag(state) >= ON
}

/// The tag of the session that records an event in that state.
#[inline(always)]
fn tag(state: u32) -> u8 {
    state as u8
}

/// Length, id: the head of a record but for the stamp and the thread.
#[inline(always)]
pub(crate) fn second_word(used: usize, state: u32) -> u64 {
    (used as u64 * 8) << 16 | u64::from(state >> 8)
}

/// The most bytes that the fields of an event can take in a record. A text needs 128 of them, and takes more if it is longer.
///
/// An event that needs more does not compile:
///
/// ```compile_fail
/// headwater_trace::events! { long("shop:long") {
///     a: &str, b: &str, c: &str, d: &str, e: &str, f: &str, g: &str, h: &str, i: &str, j: &str, k: &str,
///     l: &str, m: &str, n: &str, o: &str, p: &str, q: &str, r: &str, s: &str, t: &str, u: &str, v: &str,
///     w: &str, x: &str, y: &str, z: &str, aa: &str, ab: &str, ac: &str, ad: &str, ae: &str, af: &str
/// } }
///
/// long(
///     "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "",
///     "", "", "", "",
/// );
/// ```
pub const FIELDS_MAX: usize = WORDS_MAX * 8 - HEAD;

/// Words of an entry whose fields take at most `fields` bytes.
#[doc(hidden)]
pub const fn entry_words(bytes: &[usize]) -> usize {
    let (mut sum, mut at) = (HEAD, 0);
    while at < bytes.len() {
        sum += bytes[at];
        at += 1;
    }
    let words = sum.div_ceil(8);
    assert!(words <= WORDS_MAX, "an event has at most 4080 bytes of fields, a text counting 128");
    words
}

/// Declares events. For each it makes a function of that name, which writes a record of its arguments if a session records
/// the event, and a module of that name with the [`Event`](crate::event::Event) itself, `EVENT`.
///
/// ```
/// headwater_trace::events! {
///     /// A request has been answered.
///     pub answered("shop:answered") { request: u64, status: u16, took_us: f32, path: &str }
/// }
///
/// answered(7, 200, 1.5, "/cart");
/// ```
///
/// A field is of a type that implements [`Value`](crate::event::Value): an integer of 1 to 8 bytes, `f32`, `f64`, `bool` or
/// `&str`, of which at most [`TEXT_MAX`](crate::event::TEXT_MAX) bytes are written: one of more than 127 bytes takes 4 KiB
/// of the thread's stack meanwhile. The name is a provider and an event with
/// a colon between them, of ASCII letters, digits and `_`, at most 64 bytes. Names and fields that cannot be recorded are
/// errors of the compiler:
///
/// ```compile_fail
/// headwater_trace::events! { answered("no provider") {} }
///
/// answered();
/// ```
///
/// A call may stand in a signal handler, once [`init`](crate::init) has returned: from then on it allocates no memory and
/// takes no lock. It reports no error: an event for which there is no room is counted, and the trace reports how many
/// are missing.
///
/// With the feature `sdt` each event is also a USDT probe, as SystemTap's `sys/sdt.h` makes them (an ELF note of the owner
/// `stapsdt`). Without the feature there is no code for it.
#[macro_export]
macro_rules! events {
    ($(
        $(#[$about:meta])*
        $seen:vis $event:ident($name:literal) { $( $field:ident: $type:ty ),* $(,)? }
    )+) => { $(
        #[doc = concat!("The event `", $name, "`.")]
        $seen mod $event {
            /// Its state in this process.
            pub static EVENT: $crate::event::Event = $crate::event::Event::new($name, &[
                $( (stringify!($field), <$type as $crate::event::Value>::TYPE) ),*
            ]);
        }

        $(#[$about])*
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "as many as the event has fields")]
        $seen fn $event($( $field: $type ),*) {
            const { assert!($crate::event::is_name($name), "an event's name is provider:event") };

            #[cold]
            #[inline(never)]
            #[allow(clippy::too_many_arguments, reason = "as above")]
            fn record($( $field: $type ),*) {
                const WORDS: usize = $crate::event::entry_words(&[$( <$type as $crate::event::Value>::BYTES_MAX ),*]);
                #[allow(unused_mut, reason = "an event may have no fields")]
                let (mut words, mut len) = ([0; WORDS], $crate::record::HEAD);
                if false $( || $crate::event::Value::is_long($field) )* {
                    return record_long($( $field ),*);
                }
                $( $crate::event::Value::put($field, &mut words, &mut len); )*
                $event::EVENT.write(words, len);
            }

            // For a text that does not fit into the small array; the compiler removes it from an event without texts.
            #[cold]
            #[inline(never)]
            #[allow(clippy::too_many_arguments, reason = "as above")]
            fn record_long($( $field: $type ),*) {
                let (mut words, mut len) = ([0; $crate::event::WORDS_MAX], $crate::record::HEAD);
                // The end of what a field may take, so that those behind it have their place.
                #[allow(unused_mut, unused_variables, reason = "an event may have no fields")]
                let mut end = $crate::record::RECORD_MAX $( - <$type as $crate::event::Value>::BYTES_MAX )*;
                $(
                    end += <$type as $crate::event::Value>::BYTES_MAX;
                    $crate::event::Value::put_until($field, &mut words, &mut len, end);
                )*
                $event::EVENT.write_made(&mut words, len);
            }

            $crate::probe_of_event!($name $(, $field: $type)*);
            if $event::EVENT.is_on() {
                record($( $field ),*);
            }
        }
    )+ };
}

/// Whether a text is a provider and an event.
#[doc(hidden)]
pub const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (mut at, mut colons) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b':' if at > 0 && at + 1 < bytes.len() => colons += 1,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {}
            _ => return false,
        }
        at += 1;
    }
    colons == 1 && bytes.len() <= 64
}

/// Whether a text can name a field.
pub(crate) fn is_identifier(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.bytes().all(rest)
}

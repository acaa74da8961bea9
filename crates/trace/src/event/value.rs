//! The values that a field of an event can have, and the forms in which a record holds them.
//! [`events!`](crate::events!) uses this module; no value allocates memory.

/// The length in bytes at which the text of a field is cut. A record holds the text up to there, or up to its first NUL. A
/// text is cut earlier if the fields behind it would have no place in the record ([`FIELDS_MAX`](super::FIELDS_MAX)), but not
/// before 127 bytes.
///
/// ```
/// use headwater_trace::event::{FIELDS_MAX, TEXT_MAX};
///
/// // One text of this length, 12 of 127 bytes, and some numbers fit into one record.
/// assert!(TEXT_MAX + 1 + 12 * 128 + 8 * 8 <= FIELDS_MAX);
/// ```
pub const TEXT_MAX: usize = 2047;

/// The length in bytes up to which a text has a place in any record, so that the record can be built in a small array.
#[doc(hidden)]
pub const SHORT_TEXT_MAX: usize = 127;

/// The type of a field, as a trace describes it: the integers, floating point numbers and strings of CTF 1.8.
///
/// Later versions may add types.
///
/// ```
/// use headwater_trace::event::{Type, Value};
///
/// assert_eq!(u16::TYPE, Type::Unsigned(2));
/// assert_eq!(<&str>::TYPE, Type::Text);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// An unsigned integer, with its size in bytes: 1, 2, 4 or 8.
    Unsigned(u8),
    /// A signed integer in two's complement, with its size in bytes: 1, 2, 4 or 8.
    Signed(u8),
    /// An IEEE 754 binary floating point number, with its size in bytes: 4 or 8.
    Float(u8),
    /// A text in UTF-8, terminated by a NUL in the record.
    Text,
    /// The level of an event of the crate `tracing`: a byte, 1 for `error` to 5 for `trace`, which a trace shows by name.
    Level,
}

/// A type of which a field of an event can be: integers of 1 to 8 bytes, `f32`, `f64`, `bool` and `&str`.
///
/// No other crate can implement it: the forms of values in a record are those that every reader of CTF 1.8 knows.
///
/// ```
/// use headwater_trace::event::{Type, Value};
///
/// fn is_signed<V: Value>(_: V) -> bool {
///     matches!(V::TYPE, Type::Signed(_))
/// }
///
/// assert!(is_signed(-7_i32) && !is_signed(true));
/// ```
pub trait Value: Copy + sealed::Sealed {
    /// The type that the trace gives for the field.
    const TYPE: Type;
    /// The number of bytes that it has in any record.
    #[doc(hidden)]
    const BYTES_MAX: usize;
    /// Appends it to a record that has `len` bytes so far.
    #[doc(hidden)]
    fn put<const N: usize>(self, words: &mut Words<N>, len: &mut usize);
    /// Whether it may take more than [`Value::BYTES_MAX`] bytes, if there is room.
    #[doc(hidden)]
    #[inline(always)]
    fn is_long(self) -> bool {
        false
    }
    /// Appends it as [`Value::put`] does, but a long text up to `end` bytes of the record.
    #[doc(hidden)]
    #[inline(always)]
    fn put_until<const N: usize>(self, words: &mut Words<N>, len: &mut usize, end: usize) {
        let _ = end;
        self.put(words, len);
    }
    /// The arguments of a probe: a number, a float's bits; for a text its address and its length.
    #[doc(hidden)]
    fn bits(self) -> [u64; 2];
}

mod sealed {
    /// Keeps other crates from implementing [`Value`](super::Value).
    pub trait Sealed {}
}

/// Words of a record in the making: two of head, then the fields without gaps. On the stack, as many as the event can take.
#[doc(hidden)]
pub type Words<const N: usize> = [u64; N];

impl Type {
    /// The number of bytes that a field of this type has in any record.
    pub(super) const fn bytes_max(self) -> usize {
        match self {
            Type::Unsigned(bytes) | Type::Signed(bytes) | Type::Float(bytes) => bytes as usize,
            Type::Text => SHORT_TEXT_MAX + 1,
            Type::Level => 1,
        }
    }
}

/// Appends the lowest bytes of a number at `len` bytes. The length is apart from the words, so that the compiler knows it.
#[inline(always)]
fn put_number<const N: usize>(words: &mut Words<N>, len: &mut usize, value: u64, bytes: usize) {
    let (at, shift) = (*len / 8, *len % 8 * 8);
    words[at] |= value << shift;
    if shift + bytes * 8 > 64 {
        words[at + 1] |= value >> (64 - shift);
    }
    *len += bytes;
}

macro_rules! number {
    ($($type:ty, $kind:ident, $bits:ty;)+) => { $(
        impl sealed::Sealed for $type {}

        impl Value for $type {
            const TYPE: Type = Type::$kind(size_of::<$type>() as u8);
            const BYTES_MAX: usize = size_of::<$type>();
            #[inline(always)]
            fn put<const N: usize>(self, words: &mut Words<N>, len: &mut usize) {
                let bits = <$bits>::from_ne_bytes(self.to_ne_bytes());
                put_number(words, len, u64::from(bits), size_of::<$type>());
            }
            #[inline(always)]
            fn bits(self) -> [u64; 2] {
                let bits = u64::from(<$bits>::from_ne_bytes(self.to_ne_bytes()));
                // All bits above a negative number are copies of its sign.
                let unused = if let Type::Signed(bytes) = Self::TYPE { 64 - 8 * u32::from(bytes) } else { 0 };
                [(((bits << unused) as i64) >> unused) as u64, 0]
            }
        }
    )+ };
}

number! {
    u8, Unsigned, u8;
    u16, Unsigned, u16;
    u32, Unsigned, u32;
    u64, Unsigned, u64;
    i8, Signed, u8;
    i16, Signed, u16;
    i32, Signed, u32;
    i64, Signed, u64;
    f32, Float, u32;
    f64, Float, u64;
}

impl sealed::Sealed for bool {}

impl Value for bool {
    const TYPE: Type = Type::Unsigned(1);
    const BYTES_MAX: usize = 1;
    #[inline(always)]
    fn put<const N: usize>(self, words: &mut Words<N>, len: &mut usize) {
        put_number(words, len, u64::from(self), 1);
    }
    #[inline(always)]
    fn bits(self) -> [u64; 2] {
        [u64::from(self), 0]
    }
}

impl sealed::Sealed for &str {}

impl Value for &str {
    const TYPE: Type = Type::Text;
    const BYTES_MAX: usize = SHORT_TEXT_MAX + 1;
    #[inline(always)]
    fn put<const N: usize>(self, words: &mut Words<N>, len: &mut usize) {
        put_text(self, words, len, SHORT_TEXT_MAX);
    }
    #[inline(always)]
    fn is_long(self) -> bool {
        self.len() > SHORT_TEXT_MAX
    }
    #[inline(always)]
    fn put_until<const N: usize>(self, words: &mut Words<N>, len: &mut usize, end: usize) {
        let most = end - *len - 1;
        put_text(self, words, len, most.min(TEXT_MAX));
    }
    #[inline(always)]
    fn bits(self) -> [u64; 2] {
        [self.as_ptr().addr() as u64, self.len() as u64]
    }
}

/// Appends a text of at most so many bytes, and its NUL.
#[inline(always)]
fn put_text<const N: usize>(text: &str, words: &mut Words<N>, len: &mut usize, most: usize) {
    let end = text.floor_char_boundary(most);
    let bytes = &text.as_bytes()[..end];
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(end);
    let (eights, rest) = bytes[..end].as_chunks();
    for eight in eights {
        put_number(words, len, u64::from_le_bytes(*eight), 8);
    }
    for byte in rest {
        put_number(words, len, u64::from(*byte), 1);
    }
    // A reader finds the end by it.
    put_number(words, len, 0, 1);
}

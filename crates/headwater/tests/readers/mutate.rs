//! Changes bytes at random: single bits and bytes, pieces that move, numbers and words that readers may take badly. A seed repeats it.

/// A small generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn one_of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }
}

const TEXTS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"-0.0",
    b"1e308",
    b"1e-308",
    b"1e999",
    b"NaN",
    b"inf",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775807",
    b"4294967295",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\xff\xfe",
    b"\xc3",
    "\u{202e}\u{1b}[2J".as_bytes(),
    b"\n",
    b"\r\n",
    b"\0",
    b",",
    b";",
    b"../../x",
];

const NUMBERS: &[u64] =
    &[0, 1, 2, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX, 1 << 32, 1 << 48];

/// The longest result: mutations that double something end there.
const LEN_MAX: usize = 1 << 20;

/// Changes some places. `others` are further texts of the kind, of which pieces are taken.
pub fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let changes = 1 + random.below(*random.clone().one_of(&[1, 2, 4, 16]));
    for _ in 0..changes {
        change(bytes, others, random);
        bytes.truncate(LEN_MAX);
    }
}

fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    let piece = |of: &[u8], random: &mut Random| {
        let from = random.below(of.len());
        let most = *random.one_of(&[4, 16, 64, 1000]);
        let to = (from + random.below(most)).min(of.len());
        of[from..to].to_vec()
    };
    let len = random.below(64).min(bytes.len() - at);
    match random.below(12) {
        _ if bytes.is_empty() => bytes.extend(*random.one_of(TEXTS)),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => drop(bytes.drain(at..at + len)),
        3 => bytes.truncate(at),
        4 => drop(bytes.splice(at..at, random.one_of(TEXTS).iter().copied())),
        // A number, or a word of JSON, in the place of another.
        5 | 6 => {
            let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
            let begin = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |found| at + found);
            let end = bytes[begin..].iter().position(|byte| !is_number(byte)).map_or(bytes.len(), |len| begin + len);
            bytes.splice(begin..end, random.one_of(TEXTS).iter().copied());
        }
        // A number of a binary file.
        7 | 8 => {
            let number = random.one_of(NUMBERS).to_le_bytes();
            let width = *random.one_of(&[2, 4, 8]);
            let at = at / width * width;
            bytes.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
        }
        9 => {
            let piece = piece(bytes, random);
            bytes.splice(at..at, piece);
        }
        10 => {
            let piece = if others.is_empty() { Vec::new() } else { piece(&others[random.below(others.len())], random) };
            bytes.splice(at..at + len, piece);
        }
        // Nested deeply, or long.
        _ => {
            let count = *random.one_of(&[3, 130, 20_000]);
            let what = *random.one_of(&[b'[', b'{', b'(', b'9', b'a', b' ', b'\n', 0xff]);
            bytes.splice(at..at, std::iter::repeat_n(what, count));
        }
    }
}

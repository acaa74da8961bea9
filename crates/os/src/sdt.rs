//! Static probes (USDT): places in a program that are one `nop` as long as no tool is attached. bpftrace, perf, SystemTap and
//! gdb find them by notes in the file (`.note.stapsdt`).
//!
//! The format of a note is SystemTap's, version 3. It has the address of the place, the address of the base section, from which
//! a tool computes how far the place was moved, and no semaphore. Provider, name and arguments follow as text. The text of an
//! argument is its size, negative if it is signed, and its register.

/// The name and the arguments of a probe. They are constants of a type, because the assembler needs them.
pub trait Probe {
    /// `provider:name`. Each part becomes a text in the note.
    const NAME: &'static str;
    /// The size of each argument: 8, or -8 if it is signed.
    const SIZES: [i8; ARGUMENTS_MAX];
}

/// The largest number of arguments of a probe. Each needs a register.
pub const ARGUMENTS_MAX: usize = 6;

/// The number of words for a name in the assembler's text.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
const WORDS: usize = 16;

/// A name in the form that the assembler takes: numbers, not text.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
struct Spelled<P>(std::marker::PhantomData<P>);

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
impl<P: Probe> Spelled<P> {
    /// Provider and name, each with its NUL, four bytes in a word.
    const WORDS: [u32; WORDS] = {
        let bytes = P::NAME.as_bytes();
        assert!(bytes.len() < WORDS * 4, "a probe's name has at most 63 bytes");
        let (mut words, mut at) = ([0; WORDS], 0);
        while at < bytes.len() {
            // The colon becomes the NUL after the provider. The NUL after the name is there already.
            if bytes[at] != b':' {
                words[at / 4] |= (bytes[at] as u32) << (at % 4 * 8);
            }
            at += 1;
        }
        words
    };
    /// The length of both texts in bytes.
    const LEN: usize = P::NAME.len() + 1;
}

/// Makes this place a probe with the first `N` of these arguments. Does nothing unless a tool is attached.
#[inline(always)]
pub fn probe<P: Probe, const N: usize>(arguments: [u64; ARGUMENTS_MAX]) {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    {
        /// Assembles the place and its note. `$about` describes the arguments.
        macro_rules! place {
            ($about:literal, $($at:literal $size:ident $argument:ident)*) => {
                // SAFETY: the place does nothing, and the other sections are never executed.
                unsafe {
                    std::arch::asm!(
                        "990: nop",
                        ".pushsection .note.stapsdt, \"?\", \"note\"",
                        ".balign 4",
                        ".4byte 992f - 991f, 994f - 993f, 3",
                        "991: .asciz \"stapsdt\"",
                        "992: .balign 4",
                        "993: .8byte 990b, _.stapsdt.base, 0",
                        ".set .Lheadwater_sdt_at, 0",
                        ".irp word, {w0}, {w1}, {w2}, {w3}, {w4}, {w5}, {w6}, {w7}, {w8}, {w9}, {w10}, {w11}, {w12}, {w13}, {w14}, {w15}",
                        ".irp shift, 0, 8, 16, 24",
                        ".if .Lheadwater_sdt_at < {len}",
                        ".byte (\\word >> \\shift) & 255",
                        ".endif",
                        ".set .Lheadwater_sdt_at, .Lheadwater_sdt_at + 1",
                        ".endr",
                        ".endr",
                        concat!(".asciz \"", $about, "\""),
                        "994: .balign 4",
                        ".popsection",
                        ".ifndef _.stapsdt.base",
                        ".pushsection .stapsdt.base, \"aGR\", \"progbits\", .stapsdt.base, comdat",
                        ".weak _.stapsdt.base",
                        ".hidden _.stapsdt.base",
                        "_.stapsdt.base: .space 1",
                        ".size _.stapsdt.base, 1",
                        ".popsection",
                        ".endif",
                        len = const Spelled::<P>::LEN,
                        w0 = const Spelled::<P>::WORDS[0],
                        w1 = const Spelled::<P>::WORDS[1],
                        w2 = const Spelled::<P>::WORDS[2],
                        w3 = const Spelled::<P>::WORDS[3],
                        w4 = const Spelled::<P>::WORDS[4],
                        w5 = const Spelled::<P>::WORDS[5],
                        w6 = const Spelled::<P>::WORDS[6],
                        w7 = const Spelled::<P>::WORDS[7],
                        w8 = const Spelled::<P>::WORDS[8],
                        w9 = const Spelled::<P>::WORDS[9],
                        w10 = const Spelled::<P>::WORDS[10],
                        w11 = const Spelled::<P>::WORDS[11],
                        w12 = const Spelled::<P>::WORDS[12],
                        w13 = const Spelled::<P>::WORDS[13],
                        w14 = const Spelled::<P>::WORDS[14],
                        w15 = const Spelled::<P>::WORDS[15],
                        $($size = const P::SIZES[$at], $argument = in(reg) arguments[$at],)*
                        options(att_syntax, readonly, nostack, preserves_flags),
                    )
                }
            };
        }
        match N {
            0 => place!("",),
            1 => place!("{s0}@{a0}", 0 s0 a0),
            2 => place!("{s0}@{a0} {s1}@{a1}", 0 s0 a0 1 s1 a1),
            3 => place!("{s0}@{a0} {s1}@{a1} {s2}@{a2}", 0 s0 a0 1 s1 a1 2 s2 a2),
            4 => place!("{s0}@{a0} {s1}@{a1} {s2}@{a2} {s3}@{a3}", 0 s0 a0 1 s1 a1 2 s2 a2 3 s3 a3),
            5 => place!(
                "{s0}@{a0} {s1}@{a1} {s2}@{a2} {s3}@{a3} {s4}@{a4}",
                0 s0 a0 1 s1 a1 2 s2 a2 3 s3 a3 4 s4 a4
            ),
            _ => place!(
                "{s0}@{a0} {s1}@{a1} {s2}@{a2} {s3}@{a3} {s4}@{a4} {s5}@{a5}",
                0 s0 a0 1 s1 a1 2 s2 a2 3 s3 a3 4 s4 a4 5 s5 a5
            ),
        }
    }
    // Other platforms have no probes.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    let _ = arguments;
}

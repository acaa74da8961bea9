//! Measures what a module in C costs compared with one in Rust that does the same work: a message is written, passes
//! the module, and is read, in one process.
//!
//! Run it by `cargo bench -p headwater-capi --bench module_cost -- DIRECTORY`. DIRECTORY is an absolute path; it has
//! `upper.so`, which `make` in `examples/c-module` makes.

use std::time::Instant;

use headwater::ddi::{exports, load};
use headwater_streams::{Kind, Message, Module, ModuleInfo, Queue, Result, Side, Stream, pipe, register};

/// Does the same as `upper.c`.
#[derive(Debug)]
struct Capitals;

impl Module for Capitals {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("capitals")
    }

    fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Write && matches!(message.header.kind, Kind::Data | Kind::Proto) {
            message.data_mut().make_ascii_uppercase();
        }
        queue.put_next(message)
    }
}

const ROUNDS: usize = 15;

fn time(near: &Stream, far: &Stream, bytes: usize, count: u32) -> Result<f64> {
    let (text, mut buffer) = (vec![b'a'; bytes], vec![0; bytes]);
    let begun = Instant::now();
    for _ in 0..count {
        near.write(&text)?;
        assert_eq!(far.read(&mut buffer)?, bytes);
    }
    assert_eq!(buffer[0].to_ascii_uppercase(), b'A');
    Ok(begun.elapsed().as_nanos() as f64 / f64::from(count))
}

fn main() -> Result<()> {
    // The C library does this before it opens its first stream.
    load::install();
    std::hint::black_box(exports::all());
    let directory = std::env::args().nth(1).filter(|word| word != "--bench").expect("the directory of upper.so");
    // SAFETY: no other thread runs yet that could read the environment.
    unsafe { std::env::set_var("HEADWATER_MODULES", directory) };
    register(Capitals)?;
    for bytes in [64, 4096] {
        let mut rows = Vec::new();
        for module in [None, Some("nullmod"), Some("capitals"), Some("upper")] {
            let (near, far) = pipe()?;
            module.map_or(Ok(()), |module| near.push(module))?;
            rows.push((module.unwrap_or("no module"), near, far, Vec::new()));
        }
        for _ in 0..ROUNDS {
            for (_, near, far, times) in &mut rows {
                times.push(time(near, far, bytes, 20_000)?);
            }
        }
        for (module, _, _, mut times) in rows {
            times.sort_by(f64::total_cmp);
            println!("{bytes} bytes, {module}: {:.0} ns", times[ROUNDS / 2]);
        }
    }
    Ok(())
}

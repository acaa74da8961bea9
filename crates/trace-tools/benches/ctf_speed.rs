//! Measures how fast traces are written and read: `cargo bench -p headwater-trace-tools --bench ctf_speed --
//! DIRECTORY`, the absolute path of a new directory. 8 million records of 32 bytes (a head and two numbers) in packets of 64 KiB, in two
//! rings. The result includes the file system's cache; nothing is synced.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use headwater_trace_tools::ctf::{Packet, Reader, TraceItem, Writer};
use headwater_trace_tools::export::{Choice, text};
use headwater_trace_tools::record::Head;
use headwater_trace_tools::schema::{Base, Clock, EventKind, Field, FieldKind, Schema, StreamKind};
use headwater_trace_tools::stat::Stat;

const PACKETS: u64 = 4096;
const RECORDS: u64 = 2048;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).filter(|word| word != "--bench").ok_or("which directory?")?);
    let number = |name: &str| Field { name: name.into(), kind: FieldKind::Unsigned { bytes: 8, base: Base::Decimal } };
    let events = vec![EventKind { id: 1, name: "e".into(), fields: vec![number("a"), number("b")] }];
    let schema = Schema {
        clock: Clock { name: "tsc".into(), frequency_hz: 2_100_000_000, offset_s: 1_700_000_000, offset_ticks: 0 },
        streams: vec![StreamKind { name: "user".into(), events }],
        environment: vec![],
    };
    let template: Vec<u8> = (0..RECORDS)
        .flat_map(|at| {
            let head = Head { time: 0, event: 1, len: 32, thread: 1 }.to_bytes();
            [&head[..], &at.to_le_bytes(), &at.to_le_bytes()].concat()
        })
        .collect();
    let bytes = PACKETS * RECORDS * 32;
    let say = |what: &str, since: Instant| {
        let seconds = since.elapsed().as_secs_f64();
        let nanoseconds = seconds * 1e9 / (PACKETS * RECORDS) as f64;
        println!("{what:8} {:7.0} MB/s {nanoseconds:6.1} ns/record", bytes as f64 / 1e6 / seconds);
    };

    let mut writer = Writer::create(&dir, &schema)?;
    let mut spent = std::time::Duration::ZERO;
    let mut all = template;
    for number in 0..PACKETS {
        let begin = number * RECORDS;
        // Generating the records is not timed.
        for (record, time) in all.chunks_exact_mut(32).zip(begin..) {
            record[..8].copy_from_slice(&time.to_le_bytes());
        }
        let (ring, end) = ((number % 2) as u32, begin + RECORDS - 1);
        let packet = Packet { stream: 0, ring, cpu: ring, begin, end, discarded: 0, position: 0, parts: &[&all] };
        let now = Instant::now();
        writer.packet(packet)?;
        spent += now.elapsed();
    }
    writer.close()?;
    say("write", Instant::now() - spent);

    let now = Instant::now();
    let mut reader = Reader::open(&[&dir])?;
    let mut sum = 0_u64;
    while let Some(TraceItem::Record(record)) = reader.next()? {
        sum = sum.wrapping_add(record.time);
    }
    say("read", now);
    let now = Instant::now();
    let mut reader = Reader::open(&[&dir])?;
    while let Some(TraceItem::Record(record)) = reader.next()? {
        sum = record.fields().filter_map(|(_, value)| value.as_u64()).fold(sum, u64::wrapping_add);
    }
    say("decode", now);
    let now = Instant::now();
    let stat = Stat::of(&mut Reader::open(&[&dir])?);
    say("stat", now);
    let now = Instant::now();
    text::export(&[&dir], &Choice::default(), std::io::sink())?;
    say("text", now);
    assert_eq!(stat.records(), PACKETS * RECORDS);
    std::hint::black_box(sum);
    Ok(())
}

//! `bare-record`: stores a stamp and 32 bytes into a ring of the size of a log. This is the lower limit of recording:
//! the record names neither the event nor the thread.

use std::hint::black_box;
use std::io;

use headwater_os::ticks;
use headwater_results::schema::Standing;

use super::session::LOG_BYTES;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Words of the ring.
const WORDS: usize = LOG_BYTES / 8;

/// The ring.
#[derive(Debug)]
pub struct BareRecord {
    words: Box<[u64; WORDS]>,
    head: usize,
}

impl Operation for BareRecord {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("bare-record", "a stamp and 32 bytes stored into a ring: the least that recording costs")];
    const FIGURE: Figure = Figure::Nanoseconds;
    const STANDING: Standing = Standing::Limit;

    fn prepare(_job: &Job) -> Result<BareRecord, Unavailable> {
        let words = vec![1; WORDS].into_boxed_slice().try_into().map_err(|_| Unavailable("no ring".to_owned()))?;
        ticks::unsound().map_or(Ok(BareRecord { words, head: 0 }), |why| Err(Unavailable(why)))
    }

    fn check(&mut self) -> io::Result<()> {
        self.head = 0;
        self.run(10)?;
        let record = &self.words[9 * 4..][..4];
        if record[1..] == [1, 9, 9 ^ 5] { Ok(()) } else { Err(io::Error::other(format!("the ring holds {record:?}"))) }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            let number = black_box(number);
            let place = &mut self.words[self.head & (WORDS - 1) & !3..][..4];
            place.copy_from_slice(&[ticks::now(), 1, number, number ^ 5]);
            self.head += 4;
            // The compiler must not omit a record because the next one overwrites it.
            black_box(&mut self.words);
        }
        Ok(())
    }
}

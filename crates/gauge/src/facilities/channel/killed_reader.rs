//! `killed-reader`: how many writes of 64 B still succeed after the reader was killed (`SIGKILL`) and `waitpid(2)` has
//! returned. The reader is waiting for a message when it is killed.

use std::io;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::clock::sleep;
use headwater_results::schema::Better;

use super::count::{self, Count, Counted, counted};
use super::{Opening, lost};
use crate::facilities::{Entry, Info};
use crate::patterns::MetricInfo;
use crate::plan::cost::LaunchCost;
use crate::transports::{Endpoint, Transport, fifo, pipe, streams, unix};

/// Counts messages that are written to a dead reader.
#[derive(Debug)]
pub struct KilledReader;

/// Bytes per message.
const MESSAGE: usize = 64;

/// Messages that the reader receives before it is killed.
const TAKEN: usize = 16;

/// Time after which the reader is assumed to be waiting for the next message.
const PAUSE: Duration = Duration::from_millis(3);

/// After this many successful writes, the writer is taken never to notice.
const WRITES_MAX: u32 = 1 << 20;

impl Count for KilledReader {
    const METRICS: &'static [MetricInfo] = &[MetricInfo { name: "lost_writes", unit: "writes", better: Better::Lower }];
    const SAMPLES: usize = 3;
    const SIZE: usize = MESSAGE;

    fn sample<T: Transport>(opening: &Opening) -> io::Result<Vec<f64>> {
        let (sender, receiver) = T::open(&opening.setup()).map_err(lost)?;
        let (mut sender, mut receiver) = (Some(sender), Some(receiver));
        let mut reader = Child::fork(|| {
            drop(sender.take());
            let mut receiver = receiver.take().expect("taken once in each process");
            let mut message = [0; MESSAGE];
            if receiver.attach().is_err() {
                return 1;
            }
            // The loop ends by the signal, or because the writer has failed.
            while receiver.receive(&mut message).is_ok() {}
            1
        })?;
        drop(receiver.take());
        let mut sender = sender.take().expect("taken once in each process");
        sender.attach()?;
        for _ in 0..TAKEN {
            sender.send(&[1; MESSAGE])?;
        }
        sleep(PAUSE);
        reader.kill();
        reader.wait()?;
        let mut writes = 0;
        while writes < WRITES_MAX && sender.send(&[2; MESSAGE]).is_ok() {
            writes += 1;
        }
        Ok(vec![f64::from(writes)])
    }
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "killed-reader",
        definition_version: |_| 1,
        summary: "writes of 64 B that succeed after the reader was killed and waited for",
    },
    subjects: || count::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |_| LaunchCost::COUNTED,
    probe: |job| count::probe(TABLE, job),
    conduct: |job| count::conduct(TABLE, job),
};

static TABLE: &[Counted] = &[
    counted::<KilledReader, pipe::Pipe>(),
    counted::<KilledReader, unix::UnixStream>(),
    counted::<KilledReader, streams::window::Pipe>(),
    counted::<KilledReader, fifo::Fifo>(),
    counted::<KilledReader, streams::fifo::StreamsFifo>(),
];

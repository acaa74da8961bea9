//! `descriptors`: the file descriptors that an open channel occupies in a process that uses one end of it; the mean of
//! both ends.

use std::io;

use headwater_os::child::Child;
use headwater_os::descriptors::own;
use headwater_results::schema::Better;

use super::count::{self, Count, Counted, counted};
use super::{Opening, lost};
use crate::facilities::{Entry, Info};
use crate::patterns::MetricInfo;
use crate::plan::cost::LaunchCost;
use crate::transports::{Endpoint, Transport, fifo, pipe, streams, unix};

/// Counts file descriptors.
#[derive(Debug)]
pub struct Descriptors;

impl Count for Descriptors {
    const METRICS: &'static [MetricInfo] =
        &[MetricInfo { name: "descriptors", unit: "per end", better: Better::Lower }];
    const SAMPLES: usize = 1;

    fn sample<T: Transport>(opening: &Opening) -> io::Result<Vec<f64>> {
        let before = own()?.len();
        let (sender, receiver) = T::open(&opening.setup()).map_err(lost)?;
        let (mut sender, mut receiver) = (Some(sender), Some(receiver));
        let of_sender = held(before, || (sender.take(), drop(receiver.take())).0)?;
        let of_receiver = held(before, || (receiver.take(), drop(sender.take())).0)?;
        drop((sender, receiver));
        match own()?.len() {
            after if after == before => Ok(vec![(of_sender + of_receiver) / 2.0]),
            after => Err(io::Error::other(format!("{before} descriptors before the channel, and {after} after it"))),
        }
    }
}

/// Returns how many descriptors beyond `others` a process holds that uses one end and has dropped the other.
fn held<E: Endpoint>(others: usize, take: impl FnOnce() -> Option<E>) -> io::Result<f64> {
    const FAILED: i32 = 255;
    let mut child = Child::fork(|| {
        let mut end = take().expect("taken once in each process");
        match end.attach().and_then(|()| own()) {
            Ok(found) => i32::try_from(found.len() - others).unwrap_or(FAILED),
            Err(_) => FAILED,
        }
    })?;
    match child.wait()?.code() {
        Some(code) if code < FAILED => Ok(f64::from(code)),
        other => Err(io::Error::other(format!("the process of an end ended with {other:?}"))),
    }
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "descriptors",
        definition_version: |_| 1,
        summary: "file descriptors of an open channel in a process that has one end",
    },
    subjects: || count::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |_| LaunchCost::COUNTED,
    probe: |job| count::probe(TABLE, job),
    conduct: |job| count::conduct(TABLE, job),
};

static TABLE: &[Counted] = &[
    counted::<Descriptors, pipe::Pipe>(),
    counted::<Descriptors, unix::UnixStream>(),
    counted::<Descriptors, streams::window::Pipe>(),
    counted::<Descriptors, fifo::Fifo>(),
    counted::<Descriptors, streams::fifo::StreamsFifo>(),
];

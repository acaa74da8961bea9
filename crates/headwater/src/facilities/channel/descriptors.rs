//! `descriptors`: the file descriptors that an open channel takes, per end.

use std::io;

use headwater_os::descriptors::own;
use headwater_results::schema::Better;

use super::count::{self, Count, Counted, counted};
use super::{Opening, lost};
use crate::facilities::{Entry, Info};
use crate::patterns::MetricInfo;
use crate::transports::{Transport, fifo, pipe, streams, unix};

/// Counts descriptors.
#[derive(Debug)]
pub struct Descriptors;

impl Count for Descriptors {
    const METRICS: &'static [MetricInfo] =
        &[MetricInfo { name: "descriptors", unit: "per end", better: Better::Lower }];
    const SAMPLES: usize = 1;

    fn sample<T: Transport>(opening: &Opening) -> io::Result<Vec<f64>> {
        let before = own()?.len();
        let ends = T::open(&opening.setup()).map_err(lost)?;
        let open = own()?.len() - before;
        drop(ends);
        match own()?.len() {
            after if after == before => Ok(vec![open as f64 / 2.0]),
            after => Err(io::Error::other(format!("{before} descriptors before the channel, and {after} after it"))),
        }
    }
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "descriptors",
        definition_version: 1,
        summary: "file descriptors that an open channel takes, per end",
    },
    subjects: || count::subjects(TABLE),
    accepts: |_| Ok(()),
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

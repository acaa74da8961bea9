//! What the patterns' tests share: a job, and a round over a transport with a thread at each end.

use std::io;
use std::path::{Path, PathBuf};

use headwater_results::schema::{Placement, Row, Standing};

use super::{Ends, Pattern};
use crate::harness::conduct::Job;
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::{SharedState, WorkerContext};
use crate::transports::{Endpoint, Setup, Transport};

/// A job of that size, of no pattern in particular.
pub fn job(size: usize) -> Job {
    let row = Row {
        id: "test".into(),
        subject: "test".into(),
        pattern: "test".into(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::Free,
        size_bytes: Some(size as u64),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: Vec::new(),
    };
    Job {
        row,
        time_s: 0.1,
        warm_up_s: 0.1,
        cpus: None,
        directory: PathBuf::new(),
        token: "test".into(),
        repetitions: 1,
        command: None,
        patience_s: 5.0,
    }
}

/// The ends of transport `T` as pattern `P` wants them.
pub fn open<P: Pattern, T: Transport>(size: usize) -> (T::End, T::End) {
    let setup = Setup {
        size,
        duplex: P::INFO.duplex,
        nonblocking: P::INFO.nonblocking,
        same_cpu: false,
        directory: Path::new("/nonexistent"),
        options: "",
    };
    T::open(&setup).expect("it can be opened here")
}

/// One round with a thread at each end: the receiver's report and the sender's.
pub fn round_in_threads<P: Pattern, E: Endpoint + Send>(
    size: usize,
    ends: &mut (E, E),
    rounds: [&Round; 2],
) -> [io::Result<Report>; 2] {
    let (shared, job) = (SharedState::new().expect("memory"), job(size));
    let (sender, receiver) = ends;
    let context = || WorkerContext { payload: Payload::new(size), shared: &shared, job: &job };
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| P::serve(Ends::Sender(sender), rounds[1], &mut context()));
        let received = P::serve(Ends::Receiver(receiver), rounds[0], &mut context());
        [received, sending.join().expect("no panic")]
    })
}

/// One round with both ends in one process.
pub fn round_of_both<P: Pattern, E: Endpoint>(size: usize, ends: &mut (E, E), round: &Round) -> io::Result<Report> {
    let (shared, job) = (SharedState::new().expect("memory"), job(size));
    let mut context = WorkerContext { payload: Payload::new(size), shared: &shared, job: &job };
    P::serve(Ends::Both(&mut ends.0, &mut ends.1), round, &mut context)
}

//! `epoll-10`, `epoll-100`, `epoll-1000`, `epoll-10000`: `epoll_wait(2)` with that many registered eventfds, of which
//! one is ready and stays ready (level-triggered). The call does not sleep.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use headwater_os_tools::limits::allow_descriptors;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Capacity of the event list of each call.
const EVENTS: usize = 16;

/// File descriptors of the process beside the registered ones, with some reserve.
const OTHERS: u64 = 64;

/// A timeout of zero: the call does not wait.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A process with registered eventfds.
#[derive(Debug)]
pub struct Epoll {
    set: OwnedFd,
    events: [MaybeUninit<epoll::Event>; EVENTS],
    /// Index of the eventfd that is ready.
    ready: u64,
    _registered: Vec<OwnedFd>,
}

impl Operation for Epoll {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("epoll-10", "epoll_wait() over 10 descriptors, one of them ready"),
        ("epoll-100", "epoll_wait() over 100 descriptors, one of them ready"),
        ("epoll-1000", "epoll_wait() over 1000 descriptors, one of them ready"),
        ("epoll-10000", "epoll_wait() over 10000 descriptors, one of them ready"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Epoll, Unavailable> {
        let count = job.row.subject.trim_start_matches("epoll-").parse();
        let count: u64 = count.map_err(|_| Unavailable(format!("no number of descriptors in {}", job.row.subject)))?;
        allow_descriptors(count + OTHERS).map_err(|error| Unavailable::call("setrlimit RLIMIT_NOFILE", error))?;
        let set =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| Unavailable::call("epoll_create1", error))?;
        let ready = count / 2;
        let register = |number| {
            let initial = u32::from(number == ready);
            let descriptor =
                eventfd(initial, EventfdFlags::CLOEXEC).map_err(|error| Unavailable::call("eventfd", error))?;
            epoll::add(&set, &descriptor, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
                .map_err(|error| Unavailable::call("epoll_ctl", error))?;
            Ok(descriptor)
        };
        let registered = (0..count).map(register).collect::<Result<_, Unavailable>>()?;
        Ok(Epoll { set, events: [MaybeUninit::uninit(); EVENTS], ready, _registered: registered })
    }

    fn check(&mut self) -> io::Result<()> {
        let (events, _) = epoll::wait(&self.set, &mut self.events, Some(&NOW))?;
        let found: Vec<u64> = events.iter().map(|event| event.data.u64()).collect();
        if found == [self.ready] {
            return Ok(());
        }
        Err(io::Error::other(format!("only eventfd {} is ready, but epoll reported {found:?}", self.ready)))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            let (events, _) = epoll::wait(&self.set, &mut self.events, Some(&NOW))?;
            if events.len() != 1 {
                return Err(io::Error::other("epoll reported no descriptor"));
            }
        }
        Ok(())
    }
}

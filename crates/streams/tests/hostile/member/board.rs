//! What the processes of a case tell each other, in memory that the hostile one does not spoil.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::clock::now_ns;
use headwater_os_tools::shared::Shared;
use headwater_streams::{Errno, Error};

/// A value on the board.
#[derive(Debug, Clone, Copy)]
pub enum Cell {
    /// The number of the victim's supervised descriptor, plus one; 0: it is not ready.
    Listener,
    /// Not 0: the attacker writes, and the victim may call.
    Go,
    /// Not 0: the victim has made all calls, and closed its streams.
    Finished,
    /// Not 0: a thread of the victim panics, and reads files for its report.
    Panics,
    /// The victim's present call plus one; and when it has begun, ns.
    Call,
    Begun,
    /// Its longest call, ns.
    Longest,
    /// The victim's calls, those that failed, and those with EPROTO.
    Calls,
    Errors,
    Broken,
    /// The attacker's writes.
    Written,
}

const CELLS: usize = Cell::Written as usize + 1;

#[derive(Debug)]
pub struct Board(Shared<[AtomicU64; CELLS]>);

impl Board {
    pub fn new() -> Board {
        Board(Shared::new([const { AtomicU64::new(0) }; CELLS]).expect("memory"))
    }

    pub fn get(&self, cell: Cell) -> u64 {
        self.0[cell as usize].load(Ordering::Acquire)
    }

    pub fn set(&self, cell: Cell, value: u64) {
        self.0[cell as usize].store(value, Ordering::Release);
    }

    pub fn add(&self, cell: Cell) {
        self.0[cell as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until a value is not 0, and returns it; 0 after some seconds.
    pub fn wait(&self, cell: Cell) -> u64 {
        for _ in 0..20_000 {
            match self.get(cell) {
                0 => std::thread::sleep(std::time::Duration::from_micros(500)),
                value => return value,
            }
        }
        0
    }

    pub fn begin(&self, call: usize) {
        self.set(Cell::Begun, now_ns());
        self.set(Cell::Call, call as u64 + 1);
    }

    pub fn end(&self, error: Option<&Error>) {
        self.set(Cell::Call, 0);
        self.add(Cell::Calls);
        let elapsed_ns = now_ns() - self.get(Cell::Begun);
        self.set(Cell::Longest, elapsed_ns.max(self.get(Cell::Longest)));
        if let Some(error) = error {
            self.add(Cell::Errors);
            if error.errno() == Errno::Proto {
                self.add(Cell::Broken);
            }
        }
    }
}

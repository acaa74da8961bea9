//! The resource usage of a process: CPU time, context switches and page faults, from `getrusage(2)`.

use std::mem::MaybeUninit;

/// Resource usage since the start of a process (or of its waited-for children).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode, s.
    pub user_s: f64,
    /// CPU time in the kernel, s.
    pub system_s: f64,
    /// How often it gave up the CPU by itself, mostly to sleep.
    pub voluntary_switches: u64,
    /// How often it was preempted.
    pub involuntary_switches: u64,
    /// Page faults that needed no reading from a disk.
    pub minor_faults: u64,
    /// Largest resident set, bytes.
    pub resident_max_bytes: u64,
}

impl Usage {
    /// Of the calling process, all threads.
    pub fn of_process() -> Usage {
        read(libc::RUSAGE_SELF)
    }

    /// Of all children that were waited for.
    pub fn of_children() -> Usage {
        read(libc::RUSAGE_CHILDREN)
    }

    /// What was used between `earlier` and `self`; the largest resident set stays as it is.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            minor_faults: self.minor_faults - earlier.minor_faults,
            resident_max_bytes: self.resident_max_bytes,
        }
    }
}

fn read(who: i32) -> Usage {
    let mut raw = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is a valid, writable rusage; getrusage fails only for a bad `who` and then leaves the zeroes.
    let usage = unsafe {
        libc::getrusage(who, raw.as_mut_ptr());
        raw.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Usage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
        minor_faults: usage.ru_minflt.unsigned_abs(),
        // Linux counts the resident set in KiB.
        resident_max_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
    }
}

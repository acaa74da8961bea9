use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::memory::SharedMemory;

const BYTES: usize = 2 * BLOCK;
const STRIDE: usize = log_bytes(BYTES);

/// The logs of all CPUs, in their own memory.
struct Logs(SharedMemory, Vec<CpuLog>);

fn logs(limit: u64) -> Option<Logs> {
    const { assert!(BLOCK <= 4096, "a mapping is aligned to a page") };
    let memory = SharedMemory::create("headwater-test", cpus() * STRIDE).expect("memory");
    let base = memory.bytes(0, memory.len()).expect("all of it").as_ptr();
    // SAFETY: the memory is long enough, and exists as long as the logs.
    let log = |cpu| unsafe { CpuLog::new(base.add(cpu * STRIDE), BYTES, limit, cpu as u32) };
    let logs: Option<Vec<CpuLog>> = (0..cpus()).map(log).collect();
    Some(Logs(memory, logs?))
}

impl Logs {
    /// Appends to the log of the current CPU. Tries again if the thread was moved.
    fn append(&self, words: &[u64]) -> Appended {
        loop {
            match self.1[cpu().expect("a CPU") as usize].append(words) {
                Appended::Elsewhere => {}
                done => return done,
            }
        }
    }

    fn words(&self, cpu: usize) -> &LogWords {
        words(&self.0, cpu)
    }
}

fn words(memory: &SharedMemory, cpu: usize) -> &LogWords {
    let words = memory.bytes(cpu * STRIDE, size_of::<LogWords>()).expect("inside");
    // SAFETY: the words are at the beginning of each log, and are atomics.
    unsafe { words.cast().as_ref() }
}

fn cpus() -> usize {
    crate::cpu::allowed().expect("CPUs").into_iter().max().expect("one") as usize + 1
}

#[test]
fn entries_are_in_order_or_counted_as_lost() {
    let Some(logs) = logs(BYTES as u64) else {
        println!("skipped: no rseq here");
        return;
    };
    let cpu = crate::cpu::allowed().expect("CPUs")[0];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::cpu::bind(cpu).expect("bound");
            let room = BYTES / 24;
            for number in 0..room as u64 {
                assert_eq!(logs.append(&[0, number, !number]), Appended::Written);
            }
            assert_eq!(logs.append(&[0, 1, 1]), Appended::Full);
            let counted: Vec<bool> = logs.1.iter().map(CpuLog::count_lost).collect();
            // Counted in the log of this CPU, and in no other.
            assert!(counted.iter().enumerate().all(|(at, counted)| *counted == (at == cpu as usize)), "{counted:?}");
        });
    });
    let log = logs.words(cpu as usize);
    let room = BYTES / 24;
    assert_eq!(log.count.load(Ordering::Relaxed), room as u64);
    assert_eq!(log.head.load(Ordering::Relaxed), room as u64 * 24);
    assert_eq!(log.lost.load(Ordering::Relaxed), 1);
    let mut last = 0;
    for number in 0..room {
        let place = cpu as usize * STRIDE + DATA_AT + number * 24;
        let entry: &[AtomicU64; 3] = logs.0.get(place).expect("inside");
        let [stamp, rest @ ..] = entry.each_ref().map(|word| word.load(Ordering::Relaxed));
        assert!(stamp >= last);
        last = stamp;
        assert_eq!(rest, [number as u64, !(number as u64)]);
    }
    // One entry begins in the first block and ends in the second. The first entry of the second block follows it.
    // SAFETY: the index follows the data.
    let mark = unsafe { &*std::ptr::from_ref(log).cast::<u8>().add(index_at(BYTES)).cast::<Mark>().add(1) };
    let first = BLOCK.next_multiple_of(24);
    assert_eq!(mark.position.load(Ordering::Relaxed), first as u64);
    assert_eq!(mark.count.load(Ordering::Relaxed), first as u64 / 24);
}

#[test]
fn old_entries_are_overwritten_without_a_limit() {
    let Some(logs) = logs(u64::MAX) else { return };
    for number in 0..100_000_u64 {
        assert_eq!(logs.append(&[0, number, 7, 7, 7]), Appended::Written);
    }
    let all = (0..cpus()).map(|cpu| logs.words(cpu).count.load(Ordering::Relaxed)).sum::<u64>();
    assert_eq!(all, 100_000);
}

#[test]
fn log_of_another_cpu_is_not_changed() {
    let Some(Logs(memory, logs)) = logs(u64::MAX) else { return };
    let far = logs[0];
    // SAFETY: as in `logs`; no CPU has that number.
    let far = unsafe { CpuLog::new(far.log, BYTES, 0, u32::MAX - 9) }.expect("rseq");
    assert_eq!(far.append(&[0, 1]), Appended::Elsewhere);
    assert_eq!(far.append(&[0; 9]), Appended::Elsewhere);
    let untouched = words(&memory, 0);
    assert_eq!((untouched.head.load(Ordering::Relaxed), untouched.lost.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn moved_threads_lose_no_entries() {
    let Some(logs) = logs(u64::MAX) else { return };
    let (logs, allowed) = (&logs, crate::cpu::allowed().expect("CPUs"));
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let allowed = &allowed;
            scope.spawn(move || {
                for number in 0..1_000_000_usize {
                    if number % 1000 == 0 {
                        crate::cpu::bind(allowed[(number / 1000 + thread) % allowed.len()]).expect("bound");
                    }
                    assert_eq!(logs.append(&[0, number as u64, 1]), Appended::Written);
                }
            });
        }
    });
    let all = (0..cpus()).map(|cpu| logs.words(cpu).count.load(Ordering::Relaxed)).sum::<u64>();
    assert_eq!(all, 8_000_000);
    assert!((0..cpus()).all(|cpu| {
        let log = logs.words(cpu);
        log.head.load(Ordering::Relaxed) == 24 * log.count.load(Ordering::Relaxed)
    }));
}

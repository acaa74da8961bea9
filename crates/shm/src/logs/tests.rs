use super::*;

fn logs(count: usize, when_full: WhenFull) -> Logs {
    let memory = SharedMemory::create("headwater-logs", 4096 + count * Logs::stride(LOG_MIN)).expect("memory");
    Logs::at(&Arc::new(memory), 4096, count, LOG_MIN, when_full).expect("they are inside")
}

fn entries(log: &Log, held: &Held) -> Vec<[u64; 3]> {
    let mut bytes = vec![0; (held.range.end - held.range.start) as usize];
    log.copy(held.range.start, &mut bytes);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
    bytes.chunks(24).map(|entry| [word(&entry[..8]), word(&entry[8..16]), word(&entry[16..])]).collect()
}

/// Appends an entry, or counts it as lost. Returns whether it was written.
fn is_written(writer: &ThreadWriter, time: u64, words: &[u64]) -> bool {
    match writer.append(time, words) {
        Appended::Written => true,
        Appended::Full => {
            writer.count_lost();
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn full_log_refuses_entries_until_the_reader_takes() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    let room = LOG_MIN / 24;
    for number in 0..room as u64 + 5 {
        assert_eq!(is_written(&writer, number, &[0, number, 7]), number < room as u64);
    }
    assert_eq!((log.count(), log.lost()), (room as u64, 5));
    let held = log.held().expect("sound");
    assert_eq!(held, Held { range: 0..room as u64 * 24, overwritten: 0 });
    assert!(entries(&log, &held).iter().zip(0..).all(|(entry, number)| *entry == [number, number, 7]));
    log.take_to(48);
    assert_eq!([1; 3].map(|time| is_written(&writer, time, &[0, 1, 1])), [true, true, false]);
}

#[test]
fn append_is_due_once_when_a_quarter_is_full() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    let quarter = LOG_MIN as u64 / 4 / 16;
    let append = |count: u64| (0..count).map(|number| writer.append(number, &[0, number])).collect::<Vec<_>>();
    let is_all_written = |appended: Vec<Appended>| appended.iter().all(|appended| *appended == Appended::Written);
    let mut tail = 0;
    for _ in 0..9 {
        log.ask(tail);
        assert!(is_all_written(append(quarter)));
        // The append that is due loses and writes nothing.
        assert_eq!((append(1), log.head(), log.lost()), (vec![Appended::Due], tail + LOG_MIN as u64 / 4, 0));
        // There is no second wake-up up to the end of the log.
        assert!(is_all_written(append(3 * quarter)));
        tail = log.head();
        log.take_to(tail);
    }
    // Entries that were not taken count.
    append(4);
    log.ask(tail);
    assert!(is_all_written(append(quarter - 4)));
    assert_eq!(append(1), [Appended::Due]);
    // If more than a quarter is full when the reader asks, the next append is due.
    log.ask(tail);
    assert_eq!(append(2), [Appended::Due, Appended::Written]);
    // The fast path does not open the log, and writes nothing.
    log.ask(tail);
    let head = log.head();
    assert!(!writer.append_short(|| 1, [0, 1]) && log.head() == head);
    assert_eq!(append(1), [Appended::Due]);
    assert!(writer.append_short(|| 1, [0, 1]) && log.lost() == 0);
}

#[test]
fn overwritten_log_wakes_no_reader() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    log.ask(0);
    assert!((0..5000).all(|number| is_written(&writer, number, &[0, number])));
}

#[test]
fn closed_log_stays_closed_during_appends() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    for _ in 0..300 {
        let is_closed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_closed.load(Ordering::Acquire) {
                    writer.append(1, &[0; 500]);
                }
            });
            let head = log.head();
            while log.head() < head + 50 * LOG_MIN as u64 {
                let tail = log.head();
                log.take_to(tail);
                log.ask(tail);
            }
            log.close();
            is_closed.store(true, Ordering::Release);
        });
        assert_eq!([1; 2].map(|time| writer.append(time, &[0, 1, 1])), [Appended::Full; 2]);
        log.take_to(log.head());
    }
}

#[test]
fn closed_log_refuses_entries() {
    for when_full in [WhenFull::Refuse, WhenFull::Overwrite] {
        let logs = logs(1, when_full);
        let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
        assert!(is_written(&writer, 1, &[0, 1, 1]));
        log.close();
        assert!(!is_written(&writer, 1, &[0, 1, 1]));
        if let Some(log) = logs.cpu_writer(0) {
            let full = log.append(&[0, 1, 1]);
            assert!(full == Appended::Elsewhere || full == Appended::Full, "{full:?}");
        }
        assert!(log.lost() >= 1 && log.count() == 1);
    }
}

#[test]
fn overwritten_log_counts_the_entries_that_are_gone() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    for number in 0..20_000_u64 {
        assert!(is_written(&writer, number, &[0, number, !number]));
        let held = log.held().expect("sound");
        assert_eq!(held.overwritten * 24, held.range.start, "{number}");
        assert_eq!(held.range.end, (number + 1) * 24);
        if number % 97 == 0 {
            let entries = entries(&log, &held);
            assert!(entries.iter().zip(held.overwritten..).all(|(entry, number)| *entry == [number, number, !number]));
            assert!(number < 600 || entries.len() * 24 >= LOG_MIN - 2 * BLOCK, "{number}: {}", entries.len());
        }
    }
}

#[test]
fn kept_since_leaves_out_overwritten_entries() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    let append = |numbers: Range<u64>| numbers.for_each(|number| assert!(is_written(&writer, number, &[0, number, 1])));
    append(0..1000);
    let before = log.head();
    append(1000..1300);
    let held = log.kept_since(before, log.head()).expect("some are left");
    assert!(held.range.start + LOG_MIN as u64 >= log.head() + BLOCK as u64);
    assert!(held.range.end == before && held.overwritten * 24 == held.range.start);
    append(1300..5000);
    assert_eq!(log.kept_since(before, log.head()), None);
}

#[test]
fn logs_writers_and_threads_have_one_format() {
    let cpus = headwater_os::cpu::allowed().expect("CPUs").into_iter().max().expect("one") as usize + 1;
    for when_full in [WhenFull::Refuse, WhenFull::Overwrite] {
        let logs = logs(cpus, when_full);
        let Some(writers) = (0..cpus).map(|cpu| logs.cpu_writer(cpu)).collect::<Option<Vec<CpuWriter>>>() else {
            println!("skipped: no rseq here");
            return;
        };
        let append = |words: &[u64]| loop {
            match writers[headwater_os::rseq::cpu().expect("a CPU") as usize].append(words) {
                Appended::Elsewhere => {}
                done => return done,
            }
        };
        let (mut written, mut lost) = (0, 0);
        for number in 0..2000_u64 {
            match append(&[0, number, !number]) {
                Appended::Written => written += 1,
                full => {
                    assert_eq!((full, when_full), (Appended::Full, WhenFull::Refuse));
                    lost += u64::from(writers.iter().any(CpuWriter::count_lost));
                }
            }
        }
        let all: Vec<Log> = (0..cpus).map(|cpu| logs.log(cpu).expect("one")).collect();
        assert_eq!(all.iter().map(Log::count).sum::<u64>(), written);
        assert_eq!((all.iter().map(Log::lost).sum::<u64>(), lost + written), (lost, 2000));
        for log in &all {
            let held = log.held().expect("sound");
            let entries = entries(log, &held);
            assert_eq!(entries.len() as u64 + held.overwritten, log.count());
            assert!(entries.is_sorted_by_key(|[time, ..]| *time));
            assert!(entries.iter().all(|[_, number, not]| *not == !number));
        }
    }
}

#[test]
fn invalid_positions_are_refused() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, writer) = (logs.log(0).expect("one"), logs.thread_writer(0).expect("one"));
    writer.append(1, &[0, 1, 1]);
    log.take_to(1 << 40);
    assert_eq!(log.held(), None);
    log.take_to(0);
    log.words.0.head.store(LOG_MIN as u64 + 1, Ordering::Relaxed);
    assert_eq!(log.held(), None);
    log.words.0.head.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(log.held(), None);
    assert!(logs.log(1).is_none());
    assert_eq!((log.kept_since(u64::MAX, u64::MAX), log.kept_since(1 << 40, 24)), (None, None));
    assert_eq!(log.kept_since(1 << 40, 1 << 40), None, "marks of another round");
}

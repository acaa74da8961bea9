use super::*;

fn logs(count: usize, when_full: WhenFull) -> Logs {
    let memory = SharedMemory::create("headwater-logs", 4096 + count * Logs::stride(LOG_MIN)).expect("memory");
    Logs::at(&Arc::new(memory), 4096, count, LOG_MIN, when_full).expect("they lie inside")
}

fn entries(log: &Log, held: &Held) -> Vec<[u64; 3]> {
    let mut bytes = vec![0; (held.range.end - held.range.start) as usize];
    log.copy(held.range.start, &mut bytes);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
    bytes.chunks(24).map(|entry| [word(&entry[..8]), word(&entry[8..16]), word(&entry[16..])]).collect()
}

/// Appends an entry, or counts it as lost; returns whether it was written.
fn is_written(alone: &Alone, time: u64, words: &[u64]) -> bool {
    match alone.append(time, words) {
        Appended::Written => true,
        Appended::Full => {
            alone.count_lost();
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_log_refuses_and_counts_until_its_reader_takes() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    let room = LOG_MIN / 24;
    for number in 0..room as u64 + 5 {
        assert_eq!(is_written(&alone, number, &[0, number, 7]), number < room as u64);
    }
    assert_eq!((log.count(), log.lost()), (room as u64, 5));
    let held = log.held().expect("sound");
    assert_eq!(held, Held { range: 0..room as u64 * 24, overwritten: 0 });
    assert!(entries(&log, &held).iter().zip(0..).all(|(entry, number)| *entry == [number, number, 7]));
    log.take_to(48);
    assert_eq!([1; 3].map(|time| is_written(&alone, time, &[0, 1, 1])), [true, true, false]);
}

#[test]
fn a_reader_that_asks_is_told_once_when_a_quarter_is_full_and_the_rest_is_open_then() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    let quarter = LOG_MIN as u64 / 4 / 16;
    let append = |count: u64| (0..count).map(|number| alone.append(number, &[0, number])).collect::<Vec<_>>();
    let is_all_written = |appended: Vec<Appended>| appended.iter().all(|appended| *appended == Appended::Written);
    let mut tail = 0;
    for _ in 0..9 {
        log.ask(tail);
        assert!(is_all_written(append(quarter)));
        // Nothing is lost or written by the append that is due.
        assert_eq!((append(1), log.head(), log.lost()), (vec![Appended::Due], tail + LOG_MIN as u64 / 4, 0));
        // No second wake-up, up to the log's end.
        assert!(is_all_written(append(3 * quarter)));
        tail = log.head();
        log.take_to(tail);
    }
    // What was not taken counts.
    append(4);
    log.ask(tail);
    assert!(is_all_written(append(quarter - 4)));
    assert_eq!(append(1), [Appended::Due]);
    // A reader that asks when more than a quarter is there is told at once.
    log.ask(tail);
    assert_eq!(append(2), [Appended::Due, Appended::Written]);
    // The fast path does not open it, and does nothing.
    log.ask(tail);
    let head = log.head();
    assert!(!alone.append_short(|| 1, [0, 1]) && log.head() == head);
    assert_eq!(append(1), [Appended::Due]);
    assert!(alone.append_short(|| 1, [0, 1]) && log.lost() == 0);
}

#[test]
fn an_overwritten_log_wakes_no_reader() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    log.ask(0);
    assert!((0..5000).all(|number| is_written(&alone, number, &[0, number])));
}

#[test]
fn a_log_that_is_closed_stays_closed_whatever_its_writers_have_seen() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    for _ in 0..300 {
        let is_closed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_closed.load(Ordering::Acquire) {
                    alone.append(1, &[0; 500]);
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
        assert_eq!([1; 2].map(|time| alone.append(time, &[0, 1, 1])), [Appended::Full; 2]);
        log.take_to(log.head());
    }
}

#[test]
fn a_closed_log_takes_nothing() {
    for when_full in [WhenFull::Refuse, WhenFull::Overwrite] {
        let logs = logs(1, when_full);
        let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
        assert!(is_written(&alone, 1, &[0, 1, 1]));
        log.close();
        assert!(!is_written(&alone, 1, &[0, 1, 1]));
        if let Some(log) = logs.of_cpu(0) {
            let full = log.append(&[0, 1, 1]);
            assert!(full == Appended::Elsewhere || full == Appended::Full, "{full:?}");
        }
        assert!(log.lost() >= 1 && log.count() == 1);
    }
}

#[test]
fn an_overwritten_log_keeps_whole_entries_and_says_how_many_are_gone() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    for number in 0..20_000_u64 {
        assert!(is_written(&alone, number, &[0, number, !number]));
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
fn what_was_overwritten_while_it_was_copied_is_left_out() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    let append = |numbers: Range<u64>| numbers.for_each(|number| assert!(is_written(&alone, number, &[0, number, 1])));
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
fn a_cpus_log_and_a_threads_have_one_form() {
    let cpus = headwater_os::cpu::allowed().expect("CPUs").into_iter().max().expect("one") as usize + 1;
    for when_full in [WhenFull::Refuse, WhenFull::Overwrite] {
        let logs = logs(cpus, when_full);
        let Some(of_cpus) = (0..cpus).map(|cpu| logs.of_cpu(cpu)).collect::<Option<Vec<OfCpu>>>() else {
            println!("skipped: no rseq here");
            return;
        };
        let append = |words: &[u64]| loop {
            match of_cpus[headwater_os::rseq::cpu().expect("a CPU") as usize].append(words) {
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
                    lost += u64::from(of_cpus.iter().any(OfCpu::count_lost));
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
fn scribbled_words_are_no_positions() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    alone.append(1, &[0, 1, 1]);
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

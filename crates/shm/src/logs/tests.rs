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

#[test]
fn a_full_log_refuses_and_counts_until_its_reader_takes() {
    let logs = logs(1, WhenFull::Refuse);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    let room = LOG_MIN / 24;
    for number in 0..room as u64 + 5 {
        assert_eq!(alone.append(number, &[0, number, 7]), number < room as u64);
    }
    assert_eq!((log.count(), log.lost()), (room as u64, 5));
    let held = log.held().expect("sound");
    assert_eq!(held, Held { range: 0..room as u64 * 24, overwritten: 0 });
    assert!(entries(&log, &held).iter().zip(0..).all(|(entry, number)| *entry == [number, number, 7]));
    log.take_to(48);
    assert!(alone.append(1, &[0, 1, 1]) && alone.append(1, &[0, 1, 1]) && !alone.append(1, &[0, 1, 1]));
}

#[test]
fn a_closed_log_takes_nothing() {
    for when_full in [WhenFull::Refuse, WhenFull::Overwrite] {
        let logs = logs(1, when_full);
        let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
        assert!(alone.append(1, &[0, 1, 1]));
        log.close();
        assert!(!alone.append(1, &[0, 1, 1]));
        if let Some(log) = logs.of_cpu(0) {
            let lost = log.append(&[0, 1, 1]);
            assert!(lost == Appended::Elsewhere || lost == Appended::Lost, "{lost:?}");
        }
        assert!(log.lost() >= 1 && log.count() == 1);
    }
}

#[test]
fn an_overwritten_log_keeps_whole_entries_and_says_how_many_are_gone() {
    let logs = logs(1, WhenFull::Overwrite);
    let (log, alone) = (logs.log(0).expect("one"), logs.alone(0).expect("one"));
    for number in 0..20_000_u64 {
        assert!(alone.append(number, &[0, number, !number]));
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
    let append = |numbers: Range<u64>| numbers.for_each(|number| assert!(alone.append(number, &[0, number, 1])));
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
        let mut written = 0;
        for number in 0..2000_u64 {
            match append(&[0, number, !number]) {
                Appended::Written => written += 1,
                lost => assert_eq!((lost, when_full), (Appended::Lost, WhenFull::Refuse)),
            }
        }
        let all: Vec<Log> = (0..cpus).map(|cpu| logs.log(cpu).expect("one")).collect();
        assert_eq!(all.iter().map(Log::count).sum::<u64>(), written);
        assert_eq!(all.iter().map(Log::lost).sum::<u64>() + written, 2000);
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

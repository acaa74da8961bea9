use super::*;

const MS: u64 = 1_000_000;

/// An address in this program.
fn here() -> u64 {
    here as *const () as u64
}

/// Notices, and returns whether it has looked and how many mappings were told.
fn noticed(mappings: &Mappings, process: u64, frames: &[u64], now_ns: u64) -> (bool, usize) {
    let mut told = 0;
    let has_looked = mappings.notice(process, frames, now_ns, |_| {
        told += 1;
        true
    });
    (has_looked, told)
}

#[test]
fn each_mapping_is_told_once_in_each_process() {
    let mappings = Mappings::new();
    let (has_looked, told) = noticed(&mappings, 1, &[here(), 0, 7], 5 * MS);
    assert!(has_looked && told > 1, "{told}");
    for now_ns in [5 * MS, 6 * MS, 1004 * MS] {
        assert_eq!(noticed(&mappings, 1, &[here(), 0, 7], now_ns), (false, 0), "{now_ns}");
    }
    // After a second, a file may be in the place of another.
    assert_eq!(noticed(&mappings, 1, &[here()], 1005 * MS), (true, 0));
    assert_eq!(noticed(&mappings, 2, &[here()], 1005 * MS), (true, told), "a forked child");
}

#[test]
fn looking_for_an_address_of_no_file_becomes_rare() {
    let mappings = Mappings::new();
    noticed(&mappings, 1, &[], 0);
    let looks = (0..10_000_u64).filter(|tenth| noticed(&mappings, 1, &[here(), 4096], tenth * MS / 10).0).count();
    // At 0, 1, 3, 7 and so on to 511 ms.
    assert_eq!(looks, 10);
    // A thread that finds another looking does not wait.
    mappings.looking.store(1, Ordering::Relaxed);
    assert_eq!(noticed(&mappings, 1, &[4096], 5000 * MS), (false, 0));
    assert!(noticed(&mappings, 2, &[4096], 5000 * MS).0, "but a child whose parent was looking looks");
}

#[test]
fn a_mapping_in_the_place_of_another_is_told_and_so_is_the_first_when_it_comes_back() {
    let mappings = Mappings::new();
    noticed(&mappings, 1, &[], 0);
    let known = mappings.known.iter().find(|known| known.range().contains(&here())).expect("this program");
    let inode = known.inode.load(Ordering::Relaxed);
    // As if another file had been there.
    known.inode.store(inode + 1, Ordering::Relaxed);
    assert_eq!(noticed(&mappings, 1, &[here()], 1000 * MS), (true, 1));
    let of_this = || mappings.known.iter().filter(|known| known.range().contains(&here())).collect::<Vec<_>>();
    assert!(of_this().len() == 1 && of_this()[0].inode.load(Ordering::Relaxed) == inode);
}

#[test]
fn what_finds_no_room_is_not_known_and_is_looked_for_seldom() {
    let mappings = Mappings::new();
    let refuse = |now_ns| mappings.notice(1, &[here()], now_ns, |_| false);
    assert!(refuse(0) && !refuse(0) && refuse(MS) && !refuse(2 * MS) && refuse(3 * MS));
}

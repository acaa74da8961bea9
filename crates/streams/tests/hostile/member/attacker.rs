//! The hostile member: a process of another user, if the test is root's, that has the memory of all of the victim's streams mapped. It
//! writes what a process could make use of: numbers of processes, groups, users and descriptors, identities of other processes, words of
//! other streams, lengths; above all to words that are in use, and beside those that name a process.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use headwater_os::descriptors;
use headwater_os::watch::ProcessId;

use super::board::{Board, Cell};
use crate::common::Random;
use crate::common::users::{NOBODY, become_user};

const PAGE: u64 = 4096;
/// Pages of a memory that are looked at for words in use.
const PAGES_MAX: usize = 64;
/// The part of the memory in which processes are named, with what surrounds it.
const NAMING: u64 = 64 << 10;
/// Bytes around a name of a process that belong to its entry, at least.
const ENTRY: u64 = 64;

/// The processes that a member could wish to harm, the victim first.
pub struct Targets {
    pub victim: u32,
    /// The others: each leads a group of its own.
    pub others: Vec<u32>,
}

/// The memory of a process's streams.
pub fn memories(process: u32) -> Vec<File> {
    let found = descriptors::of_process(process).expect("/proc").into_iter();
    let memories = found.filter(|found| {
        let link = descriptors::link(*found).unwrap_or_default();
        link.to_string_lossy().starts_with("/memfd:headwater-")
    });
    let open = |found: descriptors::Found| {
        std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{}", found.number)).ok()
    };
    let mut files: Vec<File> = memories.filter_map(open).collect();
    files.sort_by_key(|file| descriptors::inode(file).unwrap_or(0));
    files.dedup_by_key(|file| descriptors::inode(&*file).unwrap_or(0));
    files
}

/// Maps memory for as long as this process lives.
pub fn map(memories: &[File]) {
    for memory in memories {
        let len = memory.metadata().map_or(0, |data| data.len()) as usize;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, which this process never reads or writes.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, memory.as_raw_fd(), 0) };
        assert_ne!(place, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    }
}

struct Attacker<'a> {
    random: Random,
    board: &'a Board,
    memories: Vec<Memory>,
    /// Place, birth and image of each process.
    identities: Vec<[u64; 3]>,
    numbers: Vec<u64>,
}

/// A stream's memory, and which words of it are in use.
struct Memory {
    file: File,
    len: u64,
    used: Vec<u64>,
    /// Where the victim is named.
    names: Vec<u64>,
}

/// Writes until it is killed.
pub fn rage(seed: u64, targets: &Targets, board: &Board) -> ! {
    let files = memories(targets.victim);
    map(&files);
    let all = || std::iter::once(targets.victim).chain(targets.others.iter().copied());
    let identity = |pid| ProcessId::from_pid(pid).map(|process| [process.place(), process.birth(), process.image()]);
    let identities: Vec<[u64; 3]> = all().chain([1, std::process::id()]).filter_map(identity).collect();
    let user = u64::from(headwater_os::files::own_user());
    let mut numbers: Vec<u64> = all().chain([std::process::id()]).map(u64::from).collect();
    numbers.extend([0, 1, 2, 3, 5, 7, 9, 12, 16, 30, 64, 100, user, NOBODY.into()]);
    // As group: all processes, or a negative number.
    numbers.extend([u32::MAX.into(), i32::MAX as u64, 1 << 31, 1 << 32, 1 << 40, u64::MAX, i64::MAX as u64]);
    if user == 0 {
        become_user(NOBODY);
    }
    let memories = files.into_iter().map(|file| {
        let len = file.metadata().map_or(0, |data| data.len());
        Memory { file, len, used: Vec::new(), names: Vec::new() }
    });
    let mut attacker = Attacker { random: Random(seed), board, memories: memories.collect(), identities, numbers };
    let own = attacker.identities[0][0];
    attacker.memories.iter_mut().for_each(|memory| memory.look(own));
    board.set(Cell::Go, 1);
    let pause_us = attacker.random.one_of(&[0, 20, 200, 1000]);
    // Some attacks are of one kind: a stream that is found broken is used no further.
    let kinds = attacker.random.one_of(&[&[0, 1][..], &[0, 1, 2], &[2, 3], &[0, 1, 2, 3, 4, 5, 6]]);
    for round in 1u64.. {
        let kind = attacker.random.one_of(kinds);
        attacker.write(kind);
        if round % 100 == 0 {
            let at = attacker.random.below(attacker.memories.len());
            attacker.memories[at].look(own);
        }
        std::thread::sleep(Duration::from_micros(pause_us));
    }
    unreachable!("it writes until it is killed")
}

impl Attacker<'_> {
    fn write(&mut self, kind: u32) {
        if self.memories.is_empty() {
            return;
        }
        let at = self.random.below(self.memories.len());
        let memory = &self.memories[at];
        let random = &mut self.random;
        let of = |words: &[u64], random: &mut Random| words.get(random.below(words.len().max(1))).copied();
        let any = random.next() % NAMING.min(memory.len);
        let (name, used) = (of(&memory.names, random).unwrap_or(any), of(&memory.used, random).unwrap_or(any));
        let identity = random.one_of(&self.identities);
        let number = random.one_of(&self.numbers);
        let near = |place: u64, random: &mut Random| (place + 4 * (random.next() % (ENTRY / 2))).saturating_sub(ENTRY);
        match kind {
            // A number beside a process's name.
            0 => memory.put(near(name, random), &(number as u32).to_ne_bytes()),
            // Another process in its place, whole or in part.
            1 => {
                let bytes = identity.map(u64::to_ne_bytes).concat();
                let beside = near(name, random) & !7;
                let place = random.one_of(&[name, name, beside, any & !7]);
                memory.put(place, &bytes[..random.one_of(&[8, 16, 24, 24])]);
            }
            // A number in the place of a word in use.
            2 => {
                let bytes = number.to_ne_bytes();
                memory.put(used + random.one_of(&[0, 0, 4]), &bytes[..random.one_of(&[1, 4, 4, 8])]);
            }
            // The word with a small change, or any bits.
            3 => {
                let now = memory.word(used);
                let next = random.next();
                let word =
                    random.one_of(&[now.wrapping_add(1), now.wrapping_sub(1), now ^ 1 << (next % 64), now << 8, next]);
                memory.put(used, &word.to_ne_bytes());
            }
            // A piece of one stream's memory in another place, or another stream's.
            4 => {
                let mut bytes = [0; 256];
                let len = random.one_of(&[8, 16, 24, 40, 64, 256]);
                let from = &self.memories[random.below(self.memories.len())];
                let source = of(&from.used, random).unwrap_or(any);
                let _ = from.file.read_at(&mut bytes[..len], source & !7);
                memory.put(random.one_of(&[used, any]) & !7, &bytes[..len]);
            }
            // Names and paths.
            5 => memory.put(used, random.one_of(&[&b"../../x\0"[..], b"/etc/hosts\0", b"echo\0", b"connld\0"])),
            _ => {
                let place = random.next() % memory.len;
                memory.put(place & !7, &random.one_of(&[number, random.clone().next()]).to_ne_bytes());
            }
        }
        self.board.add(Cell::Written);
    }
}

impl Memory {
    /// Finds the words in use.
    fn look(&mut self, victim: u64) {
        self.used.clear();
        self.names.clear();
        let mut at = 0;
        for _ in 0..PAGES_MAX {
            // SAFETY: touches no memory.
            let found = unsafe { libc::lseek(self.file.as_raw_fd(), at, libc::SEEK_DATA) };
            let Ok(place) = u64::try_from(found) else { break };
            let mut page = [0; PAGE as usize];
            let _ = self.file.read_at(&mut page, place);
            for (number, word) in page.as_chunks::<8>().0.iter().enumerate() {
                let (word, place) = (u64::from_ne_bytes(*word), place + 8 * number as u64);
                if word != 0 {
                    self.used.push(place);
                }
                if word == victim && place < NAMING {
                    self.names.push(place);
                }
            }
            at = found + PAGE as i64;
        }
    }

    fn word(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        let _ = self.file.read_at(&mut bytes, at);
        u64::from_ne_bytes(bytes)
    }

    /// Within the memory, whose length it does not change.
    fn put(&self, at: u64, bytes: &[u8]) {
        if at + bytes.len() as u64 <= self.len {
            let _ = self.file.write_at(bytes, at);
        }
    }
}

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::Mode;
use tempfile::TempDir;

use super::*;
use crate::stacks::elf::changed;

const ID: [u8; 20] = [0xab; 20];

/// An ELF file that is linked at an address, with functions as (name, address, size, binding), in a table of that kind.
fn elf_file(begin: u64, table: SectionType, functions: &[(&str, u64, u64, u8)]) -> Vec<u8> {
    let words = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let note = [&[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &ID].concat();
    let (mut strings, mut symbols) = (vec![0], vec![0; 24]);
    for (name, address, size, bind) in functions {
        symbols.extend((strings.len() as u32).to_le_bytes());
        symbols.extend([bind << 4 | 2, 0, 1, 0]);
        symbols.extend(words(&[*address, *size]));
        strings.extend([name.as_bytes(), &[0]].concat());
    }
    strings.resize(strings.len().next_multiple_of(8), 0);
    let (notes_at, strings_at) = (64 + 2 * 56, 64 + 2 * 56 + 40);
    let symbols_at = strings_at + strings.len() as u64;
    let sections_at = symbols_at + symbols.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend(words(&[pair(62 << 16 | 3, 1), 0, 64, sections_at, pair(0, 56 << 16 | 64), 64 << 16 | 2 | 3 << 32]));
    file.extend(words(&[pair(1, 5), 0, begin, begin, 8192, 8192, 4096]));
    file.extend(words(&[
        pair(4, 4),
        notes_at,
        begin + notes_at,
        begin + notes_at,
        note.len() as u64,
        note.len() as u64,
        4,
    ]));
    file.extend(note);
    file.resize(strings_at as usize, 0);
    file.extend(&strings);
    file.extend(&symbols);
    file.extend([0; 64]);
    let section = |kind: SectionType, at, len, link| words(&[pair(0, kind.0), 0, 0, at, len, pair(link, 0), 8, 24]);
    file.extend(section(table, symbols_at, symbols.len() as u64, 2));
    file.extend(section(elf::SHT_STRTAB, strings_at, strings.len() as u64, 0));
    file
}

const GLOBAL: u8 = 1;
const LOCAL: u8 = 0;

fn identity(path: &Path) -> Identity {
    let build_id = ID.iter().map(|byte| format!("{byte:02x}")).collect();
    Identity { path: path.as_os_str().as_bytes().to_owned(), build_id, changed: 0 }
}

fn written(bytes: &[u8]) -> (TempDir, Identity) {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("file");
    fs::write(&path, bytes).expect("written");
    let identity = identity(&path);
    (dir, identity)
}

#[test]
fn an_address_is_named_by_the_function_that_contains_it() {
    for begin in [0, 0x40_0000] {
        let functions = [
            ("outer", begin + 0x1000, 0x100, LOCAL),
            ("alias", begin + 0x1200, 0x10, LOCAL),
            ("shown", begin + 0x1200, 0x10, GLOBAL),
            ("inner", begin + 0x1010, 0x10, LOCAL),
            ("no size", begin + 0x1300, 0, GLOBAL),
        ];
        for table in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let (_dir, identity) = written(&elf_file(begin, table, &functions));
            let symbols = Symbols::of(&identity, 100).expect("it has symbols");
            let named = |offset| symbols.name(offset).map(|(name, within)| format!("{name}+{within}"));
            for (offset, expected) in [
                (0xfff, None),
                (0x1000, Some("outer+0")),
                (0x1011, Some("inner+1")),
                (0x1020, Some("outer+32")),
                (0x10ff, Some("outer+255")),
                (0x1100, None),
                (0x1203, Some("shown+3")),
                (0x1300, None),
                (u64::MAX, None),
            ] {
                assert_eq!(named(offset).as_deref(), expected, "{begin:#x} {offset:#x}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_the_recorded_one_has_no_names() {
    let functions = [("f", 0x1000, 0x100, GLOBAL)];
    let (dir, by_id) = written(&elf_file(0, elf::SHT_SYMTAB, &functions));
    let path = dir.path().join("file");
    let by_time = |changed| Identity { build_id: String::new(), changed, ..identity(&path) };
    let now = || changed(&headwater_os::plain_file::open(&path).expect("it is there")).expect("a time");
    let before = by_time(now());
    assert!(Symbols::of(&by_id, 1).is_ok() && Symbols::of(&before, 1).is_ok());
    assert_eq!(Symbols::of(&by_time(0), 1).err(), Some(Unknown::Unnamed), "the trace does not say which file");
    assert_eq!(Symbols::of(&by_id, 0).err(), Some(Unknown::Unnamed), "there are too many functions");
    // The same file elsewhere has the id, and another time.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let copy = dir.path().join("copy");
    fs::copy(&path, &copy).expect("copied");
    fs::rename(&copy, &path).expect("renamed");
    assert!(Symbols::of(&by_id, 1).is_ok());
    assert_eq!(Symbols::of(&before, 1).err(), Some(Unknown::Replaced));
    let mut other = elf_file(0, elf::SHT_SYMTAB, &functions);
    let at = other.windows(20).position(|bytes| bytes == ID).expect("it has the id");
    other[at] ^= 1;
    fs::write(&path, &other).expect("written");
    assert_eq!(Symbols::of(&by_id, 1).err(), Some(Unknown::Replaced));
    fs::remove_file(&path).expect("removed");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RWXU).expect("a FIFO");
    assert_eq!(Symbols::of(&by_id, 1).err(), Some(Unknown::Replaced), "and it does not wait");
    for path in ["/dev/null", "/", "/nowhere", "/proc/self/mem"] {
        assert_eq!(Symbols::of(&identity(Path::new(path)), 1).err(), Some(Unknown::Replaced));
    }
    assert_eq!(Symbols::of(&identity(Path::new("[vdso]")), 1).err(), Some(Unknown::Unnamed));
}

#[test]
fn the_functions_of_this_program_are_found() {
    let own = std::env::current_exe().expect("an executable");
    let file = headwater_os::plain_file::open(&own).expect("it is there");
    let by_time = Identity { build_id: String::new(), changed: changed(&file).expect("a time"), ..identity(&own) };
    let symbols = Symbols::of(&by_time, 1 << 22).expect("it has symbols");
    let here = the_functions_of_this_program_are_found as *const () as u64;
    let mut base = None;
    headwater_os::stack::modules(|module| {
        base = (module.start..module.end).contains(&here).then_some(module.base).or(base);
    });
    let (name, within) = symbols.name(here - base.expect("it is mapped")).expect("a function");
    assert!(name.contains("the_functions_of_this_program_are_found") && within == 0, "{name}+{within}");
}

proptest! {
    /// A file may be anything: reading ends, and the memory that it takes is bounded by the limits.
    #[test]
    fn no_file_is_too_strange(changes in prop::collection::vec((0_usize..1000, any::<u8>()), 1..8), cut in 0_usize..1200) {
        let functions = [("f", 0x1000, 0x100, GLOBAL), ("g", 0x1100, 0x100, LOCAL)];
        let mut file = elf_file(0, elf::SHT_SYMTAB, &functions);
        for (at, value) in changes {
            let at = at % file.len();
            file[at] = value;
        }
        file.truncate(cut.max(64));
        let (_dir, identity) = written(&file);
        if let Ok(symbols) = Symbols::of(&identity, 100) {
            for offset in [0, 0x1000, 0x1100, u64::MAX, 1 << 63] {
                symbols.name(offset);
            }
        }
    }
}

use std::io::Write;

use proptest::prelude::*;

use super::*;

/// Where the made file has its head, and what it describes: code at these addresses.
const HEAD: u64 = 0x200;
const CODE: std::ops::Range<u64> = 0x1000..0x1100;

/// A file with the tables of one function, whose instructions are these.
fn made(instructions: &[u8]) -> Vec<u8> {
    let words = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend(words(&[pair(62 << 16 | 3, 1), 0, 64, 0, pair(0, 56 << 16 | 64), 64 << 16 | 2]));
    file.extend(words(&[pair(1, 5), 0, 0, 0, 0x400, 0x400, 4096]));
    file.extend(words(&[pair(0x6474_e550, 4), HEAD, HEAD, HEAD, 20, 20, 4]));
    file.resize(HEAD as usize, 0);
    let at = HEAD + 20;
    let common = [&[0, 0, 0, 0, 1][..], b"zR\0", &[1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0]].concat();
    let function_at = at + 4 + common.len() as u64;
    let start = (CODE.start as i64 - (function_at as i64 + 8)) as i32;
    let len = (CODE.end - CODE.start) as u32;
    let mut function = (function_at as u32 + 4 - at as u32).to_le_bytes().to_vec();
    function.extend([start.to_le_bytes(), len.to_le_bytes()].concat());
    function.push(0);
    function.extend(instructions);
    let relative = |address: u64| (address as i64 - HEAD as i64) as i32;
    file.extend([1, 0x1b, 0x03, 0x3b]);
    file.extend([relative(at) - 4, 1, relative(CODE.start), relative(function_at)].map(i32::to_le_bytes).concat());
    file.extend((common.len() as u32).to_le_bytes());
    file.extend(common);
    file.extend((function.len() as u32).to_le_bytes());
    file.extend(function);
    file.resize(0x400, 0);
    file
}

fn tables(file: &[u8]) -> Option<Tables> {
    let mut written = tempfile::NamedTempFile::new().expect("a file");
    written.write_all(file).expect("room");
    Tables::read(&headwater_os::plain_file::open(written.path()).expect("it is there"), 4096)
}

/// The frame and where the frame pointer is, in words.
fn at(tables: &Tables, offset: u64) -> Option<String> {
    let row = tables.row(offset)?;
    Some(format!("{:?} {:?} {:?}", row.frame, row.registers[FRAME_POINTER], row.registers[ADDRESS]))
}

#[test]
fn each_place_of_a_function_has_its_row() {
    // push rbp; mov rbp, rsp; ...; leave; ret; and behind it as before.
    let file = made(&[0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 0x20, 0x0c, 7, 8, 0x41, 0x0b]);
    let tables = tables(&file).expect("they are there");
    let entry = "Register(1, 8) Same At(-8)";
    let set_up = "Register(0, 16) At(-16) At(-8)";
    for (offset, expected) in [
        (0x0fff, None),
        (0x1000, Some(entry)),
        (0x1001, Some("Register(1, 16) At(-16) At(-8)")),
        (0x1003, Some("Register(1, 16) At(-16) At(-8)")),
        (0x1004, Some(set_up)),
        (0x1023, Some(set_up)),
        (0x1024, Some("Register(1, 8) At(-16) At(-8)")),
        (0x1025, Some(set_up)),
        (0x10ff, Some(set_up)),
        (0x1100, None),
    ] {
        assert_eq!(at(&tables, offset).as_deref(), expected, "{offset:#x}");
    }
}

#[test]
fn the_functions_of_this_program_have_rows() {
    let own = std::env::current_exe().expect("an executable");
    let own = headwater_os::plain_file::open(&own).expect("it is there");
    let tables = Tables::read(&own, 1 << 26).expect("it has tables");
    let functions = tables.functions().expect("a list");
    let (functions, mut starts) = (functions.table().expect("a list"), Vec::new());
    let mut all = functions.iter(&tables.bases);
    while let Ok(Some((Pointer::Direct(start), _))) = all.next() {
        starts.push(start);
    }
    assert!(starts.len() > 1000, "{}", starts.len());
    // Nothing has been pushed yet.
    let rows: Vec<String> = starts.iter().filter_map(|start| at(&tables, start - tables.begin)).collect();
    let plain = rows.iter().filter(|row| *row == "Register(1, 8) Same At(-8)").count();
    assert!(rows.len() * 100 > starts.len() * 99 && plain * 10 > starts.len() * 9, "{plain} of {}", starts.len());
    assert!(Tables::read(&own, tables.len() - 1).is_none(), "there is a limit");
}

#[test]
fn a_row_with_a_long_expression_is_not_kept() {
    // The frame's address is what an expression of literals says.
    let with = |count: u16| {
        let low = (count & 0x7f) as u8 | 0x80;
        let expression = vec![0x31; count.into()];
        made(&[&[0x0f, low, (count >> 7) as u8][..], &expression].concat())
    };
    for (count, is_kept) in [(256, true), (257, false)] {
        let tables = tables(&with(count)).expect("they are there");
        assert_eq!(tables.row(0x1010).is_some(), is_kept, "{count}");
    }
}

#[test]
fn a_list_that_points_before_the_descriptions_has_no_rows() {
    // The address of the descriptions, which the list is relative to.
    let mut file = made(&[]);
    file[HEAD as usize + 4] = 41;
    assert!(tables(&file).is_none_or(|tables| tables.row(0x1010).is_none()));
}

proptest! {
    /// Whatever a file has: reading ends, and the memory that it takes is bounded by the limits.
    #[test]
    fn no_file_is_too_strange(
        changes in prop::collection::vec((0_usize..0x400, any::<u8>()), 1..8),
        instructions in prop::collection::vec(any::<u8>(), 0..60),
        cut in 64_usize..0x500,
    ) {
        let mut file = made(&instructions);
        for (at, value) in changes {
            file[at] = value;
        }
        file.truncate(cut);
        if let Some(tables) = tables(&file) {
            for offset in [0, 0x1000, 0x1010, 0x10ff, u64::MAX, 1 << 63] {
                tables.row(offset);
            }
        }
    }
}

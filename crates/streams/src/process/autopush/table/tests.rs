//! The rules of the table: which entries it takes, which it finds and removes, and which texts it reads.

use super::*;

fn table(lines: &[&str]) -> Table {
    let mut table = Table::default();
    for line in lines {
        table.add(line.parse().expect(line)).expect(line);
    }
    table
}

/// What adding a line to a table gives.
fn check_add(lines: &[&str], line: &str, expected: std::result::Result<(), Errno>) {
    let mut table = table(lines);
    let before = table.clone();
    let added = line.parse().and_then(|entry| table.add(entry)).map_err(|error| error.errno());
    assert_eq!(added, expected, "{line} to {lines:?}");
    assert_eq!(added.is_err(), table == before);
}

#[test]
fn an_entry_is_taken_if_it_makes_sense_and_is_for_other_devices() {
    let (exist, inval, range) = (Err(Errno::Exist), Err(Errno::Inval), Err(Errno::Range));
    for (lines, line, expected) in [
        (&[][..], "echo 0 0 nullmod", Ok(())),
        (&["echo 0 0 nullmod"], "echo 0 0 srvmod", exist),
        (&["echo 0 0 nullmod"], "echo 1 0 srvmod", Ok(())),
        (&["echo 0 0 nullmod"], "nuls 0 0 srvmod", Ok(())),
        (&["echo 0 0 nullmod"], "echo -1 0 srvmod", exist),
        (&["echo -1 0 nullmod"], "echo 7 0 srvmod", exist),
        (&["echo 4 8 nullmod"], "echo 3 0 srvmod", Ok(())),
        (&["echo 4 8 nullmod"], "echo 9 10 srvmod", Ok(())),
        (&["echo 4 8 nullmod"], "echo 8 9 srvmod", exist),
        (&["echo 4 8 nullmod"], "echo 1 4 srvmod", exist),
        (&["echo 4 8 nullmod"], "echo 5 6 srvmod", exist),
        (&["echo 4 8 nullmod"], "echo 1 20 srvmod", exist),
        (&[], "echo 5 5 nullmod", range),
        (&[], "echo 5 4 nullmod", range),
        (&[], "echo 0 0", inval),
        (&[], "echo 0", inval),
        (&[], "echo", inval),
        (&[], "", inval),
        (&[], "echo -1 3 nullmod", inval),
        (&[], "echo -2 0 nullmod", inval),
        (&[], "echo 4294967296 0 nullmod", inval),
        (&[], "echo 0 x nullmod", inval),
        (&[], "a/b 0 0 nullmod", inval),
        (&[], ".x 0 0 nullmod", inval),
        (&[], "echo 0 0 ../x", inval),
        (&[], "echo 0 0 seventeen-letters", inval),
        (&[], "echo 0 0 sixteen-letters-", Ok(())),
        (&[], "echo 0 0 1 2 3 4 5 6 7 8", Ok(())),
        (&[], "echo 0 0 1 2 3 4 5 6 7 8 9", inval),
        (&[], "echo 0 0 n\u{e4}me", inval),
    ] {
        check_add(lines, line, expected);
    }
    let modules = |count: usize| Autopush::new("echo", Minors::All, vec!["nullmod"; count]);
    for (count, is_ok) in [(0, false), (1, true), (8, true), (9, false), (65, false)] {
        assert_eq!(Table::default().add(modules(count)).is_ok(), is_ok, "{count} modules");
    }
    let spaced = Autopush::new("echo", Minors::All, ["two words"]);
    assert_eq!(Table::default().add(spaced).expect_err("a space").errno(), Errno::Inval);
}

#[test]
fn an_entry_is_found_by_each_device_and_removed_by_its_first() {
    let (nodev, range) = (Err(Errno::Nodev), Err(Errno::Range));
    let lines = ["echo 4 8 nullmod", "echo 2 0 nullmod", "nuls -1 0 srvmod"];
    for (driver, minor, is_found, removed) in [
        ("echo", 4, true, Ok(())),
        ("echo", 6, true, range),
        ("echo", 8, true, range),
        ("echo", 9, false, nodev),
        ("echo", 3, false, nodev),
        ("echo", 2, true, Ok(())),
        ("nuls", 0, true, Ok(())),
        ("nuls", u32::MAX, true, range),
        ("log", 0, false, nodev),
    ] {
        let mut table = table(&lines);
        let found = table.find(driver, minor).cloned();
        assert_eq!(found.is_some(), is_found, "{driver} {minor}");
        let entry = table.remove(driver, minor).map_err(|error| error.errno());
        assert_eq!(entry.as_ref().map(|_| ()).map_err(|errno| *errno), removed, "{driver} {minor}");
        assert_eq!(table.entries.len(), if entry.is_ok() { 2 } else { 3 });
        if let Ok(entry) = entry {
            assert_eq!(Some(entry), found);
        }
    }
}

#[test]
fn a_table_is_read_as_it_was_stored_and_nothing_less() {
    let full = table(&["echo 4 8 nullmod srvmod", "echo 2 0 nullmod", "nuls -1 0 srvmod"]);
    for table in [&full, &Table::default()] {
        assert_eq!(&Table::of(table.text().as_bytes()).expect("whole"), table);
    }
    let text = full.text();
    for len in 0..text.len() {
        assert_eq!(Table::of(&text.as_bytes()[..len]).expect_err("cut off").errno(), Errno::Proto, "{len} bytes");
    }
    let with = |line: &str| text.replacen("nuls", line, 1);
    for strange in
        [with("nuls\0"), with("echo"), with("\nnuls"), with("# "), text.replacen('1', "2", 1), text.repeat(2)]
    {
        assert_eq!(Table::of(strange.as_bytes()).expect_err("strange").errno(), Errno::Proto, "{strange}");
    }
    assert_eq!(Table::of(b"\xff\xfe").expect_err("no text").errno(), Errno::Proto);
}

#[test]
fn a_full_table_has_a_text_within_the_limit_and_takes_no_more() {
    let name = "n".repeat(NAME_MAX);
    let mut table = Table::default();
    for number in 0..AUTOPUSH_ENTRIES as u32 {
        let first = u32::MAX - 2 * number - 1;
        let modules = vec![name.clone(); AUTOPUSH_MODULES];
        table.add(Autopush::new(name.clone(), Minors::Range(first, first + 1), modules)).expect("room");
    }
    assert!(table.text().len() <= Table::LEN_MAX);
    let more = table.add(Autopush::new("echo", Minors::All, ["nullmod"]));
    assert_eq!(more.expect_err("full").errno(), Errno::Nosr);
}

#[test]
fn a_file_tells_the_line_that_makes_no_sense() {
    assert_eq!(parse("").expect("nothing").len(), 0);
    assert_eq!(parse("\n # x\necho 0 0 a#b # c\n").expect("one")[0].modules, ["a#b"]);
    for (text, line) in [("x", 1), ("\n\necho 0 0", 3), ("echo 0 0 a\necho 3 2 a", 2)] {
        let error = parse(text).expect_err("no sense").to_string();
        assert!(error.starts_with(&format!("line {line}: ")), "{error}");
    }
}

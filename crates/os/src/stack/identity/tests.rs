use std::process::Command;

use super::*;
use crate::stack::modules;

fn padded(text: &str, align: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    bytes
}

fn note(name: &str, kind: u32, content: &[u8], align: usize) -> Vec<u8> {
    let head = [name.len() as u32 + 1, content.len() as u32, kind].map(u32::to_le_bytes).concat();
    let mut bytes = [head, padded(&format!("{name}\0"), 4)].concat();
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    bytes
}

#[test]
fn build_id_is_found_among_other_notes() {
    for align in [4, 8] {
        let notes = [note("GNU", 1, &[9; 16], align), note("Go", 3, b"abc", align), note("GNU", 3, &[7; 20], align)];
        assert_eq!(build_id(&notes.concat(), align as u64), Some(&[7; 20][..]), "{align}");
        assert_eq!(build_id(&notes[..2].concat(), align as u64), None, "another owner's");
    }
    for hostile in [&[0xff; 64][..], &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 3, 0, 0, 0], &[], &[0; 16]] {
        assert_eq!(build_id(hostile, 4), None);
    }
}

/// Compares the build id with the one that binutils reads from the file.
#[test]
fn identity_of_a_program_is_that_of_its_file() {
    let own = std::env::current_exe().expect("an executable");
    let (mut found, mut others) = (None, 0);
    modules(|module| match module.path == own.as_os_str().as_encoded_bytes() {
        true => found = Some(module.identity()),
        // The vdso has no file.
        false => others += usize::from(module.path.starts_with(b"[") && module.identity().changed == 0),
    });
    let found = found.expect("it is mapped");
    assert!(others > 0 && found.changed > 1_700_000_000_000_000_000, "{found:?}");
    let Ok(output) = Command::new("readelf").arg("-n").arg(&own).output() else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, id)) = text.split_once("Build ID: ") else { return };
    let hex: String = found.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(id.split_whitespace().next(), Some(&hex[..]), "{text}");
}

#[test]
fn unmapped_memory_and_other_files_have_no_identity() {
    let none = |module: Module<'_>| assert_eq!(module.identity(), Identity::default(), "{module:?}");
    let page = 4096;
    none(Module { base: page, start: page, end: 2 * page, inode: 0, path: b"/etc/hostname (deleted)" });
    none(Module { base: u64::MAX, start: 0, end: 0, inode: 1, path: b"/proc/self/exe" });
    none(Module { base: 0, start: 0, end: 0, inode: 1, path: &[b'/'; 2000] });
}

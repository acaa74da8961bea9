use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::man;

fn pages(directory: &Path) -> BTreeMap<String, String> {
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).expect("a page");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    fs::read_dir(directory).expect("a directory").map(|entry| read(entry.expect("a file"))).collect()
}

#[test]
fn the_man_pages_are_those_of_the_command() {
    let made = tempfile::TempDir::new().expect("a directory");
    man(made.path()).expect("pages");
    let (kept, made) = (pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("man")), pages(made.path()));
    assert!(
        made.len() > 5 && kept == made,
        "archive/man is not up to date: `cargo run -- man man` in archive/ renews it"
    );
}

//! What processes leave in the directory of devices that end without a close: later opens remove it, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use headwater_streams::DeviceOptions;

use super::processes::{killed, send, started};
use super::{PATIENCE, bound, next, open};
use crate::common::{in_own_process, private_directory, within};

/// How many processes end without a close.
const DEAD: u32 = 40;
/// What may be left of them: one open looks at few numbers.
const LEFT: usize = 6;

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).expect("it is there");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
}

#[test]
fn files_of_killed_endpoints_are_removed_by_later_opens() {
    in_own_process!();
    within(PATIENCE, "forty endpoints that are killed".to_owned());
    let directory = private_directory();
    let path = directory.path();
    let living = bound(path, "ticlts", b"living", 0);
    // Of another program, and of an address that no endpoint had.
    let others = ["readme", ".ticlts@", ".ticlts@zz", ".ticlts@6f74686572", "ticlts.x:", "ticots.0:"];
    others.iter().for_each(|name| std::fs::write(path.join(name), [9, 0, 0, 0]).expect("room"));
    let before = names(path);
    for number in 0..DEAD {
        killed(started(|| bound(path, "ticlts", &number.to_be_bytes(), 0)));
    }
    // Each has met the files of those before it.
    let left = |names: BTreeSet<String>| names.difference(&before).cloned().collect::<Vec<_>>();
    assert!(left(names(path)).len() <= 2 * LEFT, "{:?}", left(names(path)));
    for _ in 0..DEAD {
        open(path, "ticlts");
    }
    assert_eq!(left(names(path)), Vec::<String>::new());
    assert_eq!(names(path), before, "what is of no dead endpoint stays");
    let sender = bound(path, "ticlts", b"sender", 0);
    send(&sender, b"living", b"x");
    assert_eq!(next(&living).data(), Some(&b"x"[..]));
}

#[test]
fn the_address_of_a_killed_endpoint_that_another_has_taken_over_stays() {
    in_own_process!();
    within(PATIENCE, "an address that is taken over".to_owned());
    let directory = private_directory();
    let path = directory.path();
    killed(started(|| bound(path, "ticlts", b"shop", 0)));
    let heir = bound(path, "ticlts", b"shop", 0);
    let sender = bound(path, "ticlts", b"sender", 0);
    for _ in 0..10 {
        open(path, "ticlts");
        send(&sender, b"shop", b"x");
        assert_eq!(next(&heir).data(), Some(&b"x"[..]));
    }
}

#[test]
fn sockets_of_the_links_of_a_killed_multiplexer_are_removed_by_the_next_open() {
    in_own_process!();
    within(PATIENCE, "a multiplexer that is killed".to_owned());
    let directory = private_directory();
    let options = DeviceOptions::new().directory(directory.path());
    let is_of_a_link = |name: &String| name.starts_with("mux.") && !name.ends_with(':');
    killed(started(|| {
        let mux = options.open("mux").expect("a free number");
        for _ in 0..3 {
            mux.links().link(&options.open("echo").expect("a free number")).expect("a multiplexer");
        }
        mux
    }));
    assert_eq!(names(directory.path()).iter().filter(|name| is_of_a_link(name)).count(), 3);
    let mux = options.open("mux").expect("a free number");
    mux.links().link(&options.open("echo").expect("a free number")).expect("a multiplexer");
    assert_eq!(names(directory.path()).iter().filter(|name| is_of_a_link(name)).count(), 1);
}

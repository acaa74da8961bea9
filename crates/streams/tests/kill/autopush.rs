//! A process is killed while it configures autopush, or opens a device with it: the table is the old one or the new one, and the
//! device can be opened.

use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::{DeviceOptions, Result};

use crate::common::{alone, calm, child, within};

/// Has a process killed at each place that it comes to in `dies`, and then calls `after`.
fn killed_at_any_place(what: &str, dies: impl Fn(&DeviceOptions) -> Result<()>, after: impl Fn(&DeviceOptions, bool)) {
    let _alone = alone();
    for place in 0.. {
        within(Duration::from_secs(30), format!("{what} killed at place {place}"));
        let directory = tempfile::tempdir().expect("a directory");
        // Not yet there, so it is made for this user alone.
        let options = DeviceOptions::new().directory(directory.path().join("devices"));
        autopush::configure(&options, Autopush::new("echo", Minors::All, ["nullmod"])).expect("valid");
        let mut killed = child(|| {
            probe::arm(place, None);
            dies(&options)
        });
        let came_through = killed.wait().expect("wait").success();
        after(&options, came_through);
        if came_through {
            assert!(place > 2, "only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_process_killed_while_it_configures_leaves_the_old_table_or_the_new_one() {
    let other = || Autopush::new("nuls", Minors::All, ["srvmod"]);
    killed_at_any_place(
        "a configuring process",
        |options| autopush::configure(options, other()),
        |options, came_through| {
            let entries = autopush::list(options).expect("readable");
            assert!(entries.len() == 2 || !came_through && entries.len() == 1, "{entries:?}");
            assert_eq!(options.open("echo").expect("open").modules().list().expect("fine"), ["nullmod", "echo"]);
            // The next one has its turn at once, and finds no trouble with what is left.
            let added = autopush::configure(options, other());
            assert_eq!(added.is_ok(), entries.len() == 1, "{added:?}");
            autopush::clear(options, "nuls", 0).expect("it is there now");
            assert_eq!(autopush::list(options).expect("readable").len(), 1);
        },
    );
}

#[test]
fn a_process_killed_while_it_clears_leaves_the_old_table_or_the_new_one() {
    killed_at_any_place(
        "a clearing process",
        |options| autopush::clear(options, "echo", 0).map(drop),
        |options, came_through| {
            let entries = autopush::list(options).expect("readable");
            assert!(entries.is_empty() || !came_through, "{entries:?}");
            let expected = if entries.is_empty() { vec!["echo"] } else { vec!["nullmod", "echo"] };
            assert_eq!(options.open("echo").expect("open").modules().list().expect("fine"), expected);
        },
    );
}

#[test]
fn a_process_killed_while_an_open_pushes_leaves_the_device_to_the_next() {
    killed_at_any_place(
        "an opening process",
        |options| options.clone().minor(3).open("echo").map(drop),
        |options, _| {
            let stream = options.clone().minor(3).open("echo").expect("open");
            assert_eq!(stream.modules().list().expect("fine"), ["nullmod", "echo"]);
            stream.write(b"hello").expect("room");
            assert_eq!(stream.read(&mut [0; 8]).expect("an echo"), 5);
        },
    );
}

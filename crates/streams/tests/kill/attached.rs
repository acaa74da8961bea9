//! A process is killed at any place while it attaches, opens, serves or detaches a name: the name is attached or plain, and other
//! processes use it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::attach::{detach, is_attached};
use headwater_streams::{Errno, Result, Stream, pipe};

use crate::common::{calm, child, in_own_process, within};

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("name");
    std::fs::write(&path, "plain").expect("create");
    (directory, path)
}

/// Has a process killed at each place that it comes to in `dies`, and then calls `after` with whether it came through.
fn killed_at_any_place(what: &str, places: u64, dies: impl Fn(&Path) -> Result<()>, after: impl Fn(&Path, bool)) {
    for place in 0.. {
        within(Duration::from_secs(30), format!("{what} killed at place {place}"));
        let (_directory, path) = file();
        let mut killed = child(|| {
            probe::arm(place, None);
            dies(&path)
        });
        let came_through = killed.wait().expect("wait").success();
        after(&path, came_through);
        if came_through {
            assert!(place > places, "only {place} places were passed");
            break;
        }
    }
    calm();
}

fn is_plain(path: &Path) -> bool {
    Stream::open_attached(path).expect("no error").is_none() && !is_attached(path)
}

/// Attaches an end in this process, and uses it.
fn attach_and_use(path: &Path) {
    let (near, far) = pipe().expect("pipe");
    far.attach_to(path).expect("it is plain");
    Stream::open_attached(path).expect("no error").expect("attached").write(b"x").expect("room");
    assert_eq!(near.read(&mut [0; 8]).expect("there"), 1);
    detach(path).expect("it is attached");
}

#[test]
fn a_process_killed_while_it_attaches_or_detaches_leaves_a_plain_name() {
    in_own_process!();
    killed_at_any_place(
        "an attacher",
        3,
        |path| {
            let (_near, far) = pipe()?;
            far.attach_to(path)?;
            detach(path)
        },
        |path, _| {
            assert!(is_plain(path));
            attach_and_use(path);
        },
    );
}

#[test]
fn an_opener_killed_at_any_place_leaves_the_name_to_others() {
    in_own_process!();
    for connects in [false, true] {
        let (_directory, path) = file();
        let (near, far) = pipe().expect("pipe");
        if connects {
            far.push("connld").expect("known");
        }
        far.attach_to(&path).expect("own");
        drop(far);
        let opened = || Stream::open_attached(&path).expect("no error").expect("attached");
        killed_at_any_place(
            "an opener",
            5,
            |_| {
                let nonblocking = headwater_streams::attach::AttachedOptions::new().nonblocking(true);
                match nonblocking.open(&path) {
                    Err(error) if connects && error.errno() == Errno::Again => Ok(()),
                    done => done.map(drop),
                }
            },
            |_, _| {
                if !connects {
                    opened().write(b"x").expect("room");
                    assert_eq!(near.read(&mut [0; 8]).expect("there"), 1);
                }
            },
        );
        if connects {
            // All of them are gone, and the next one is served.
            near.set_nonblocking(true).expect("open");
            while let Ok(received) = near.files().receive_from() {
                assert_eq!(received.into_stream().expect("a stream").read(&mut [0; 8]).expect("the end"), 0);
            }
            near.set_nonblocking(false).expect("open");
            let client = child(|| {
                let connection = Stream::open_attached(&path)?.expect("attached");
                connection.write(b"x").map(drop)
            });
            let end = near.files().receive_from().expect("there").into_stream().expect("a stream");
            assert_eq!(end.read(&mut [0; 8]).expect("there"), 1);
            crate::common::joined(client);
        }
        detach(&path).expect("it is attached");
    }
}

#[test]
fn a_holder_killed_at_any_place_leaves_a_plain_name_and_no_opener_that_waits() {
    in_own_process!();
    for connects in [false, true] {
        for place in 0.. {
            within(Duration::from_secs(30), format!("a holder killed at place {place}, connects {connects}"));
            let (_directory, path) = file();
            let (ready, is_ready) = std::io::pipe().expect("pipe");
            let mut holder = child(|| {
                let (near, far) = pipe()?;
                if connects {
                    far.push("connld")?;
                }
                far.attach_to(&path)?;
                drop(far);
                std::io::Write::write_all(&mut &is_ready, b"x")?;
                probe::arm(place, None);
                if connects {
                    let connection = near.files().receive_from()?.into_stream()?;
                    connection.read(&mut [0; 8])?;
                } else {
                    near.read(&mut [0; 8])?;
                }
                Ok(())
            });
            std::io::Read::read_exact(&mut &ready, &mut [0]).expect("it runs");
            let opened = match Stream::open_attached(&path) {
                Ok(Some(stream)) => stream.write(b"x").is_ok(),
                Ok(None) => false,
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Nxio, "{error}");
                    false
                }
            };
            let came_through = holder.wait().expect("wait").success();
            assert!(opened || !came_through);
            assert!(is_plain(&path));
            attach_and_use(&path);
            if came_through {
                assert!(place > 3, "only {place} places were passed");
                break;
            }
        }
    }
    calm();
}

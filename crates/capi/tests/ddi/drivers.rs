//! Tests of a driver in C.

use std::time::Duration;

use headwater_streams::{Device, DeviceOptions, Errno, Flush, IoctlTimeout, Options, Priority};

use super::common::*;

const SET: u32 = (b'r' as u32) << 8 | 1;

#[test]
fn driver_returns_rotated_messages() {
    let _alone = prepare();
    let device = Device::open_private("rot").expect("loaded by its name");
    device.write(b"Hello, 9").expect("room");
    assert_eq!(read_within(&device, PATIENCE), "Uryyb, 9");
    device.putpmsg(Some(b"control"), Some(b"az"), 4).expect("room");
    let got = device.receive().expect("no error").expect("sent");
    assert_eq!(
        (got.control(), got.data(), got.priority()),
        (Some(&b"control"[..]), Some(&b"nm"[..]), Priority::Band(4))
    );
    let mut by = vec![1];
    assert_eq!(device.ioctl(SET, &mut by, IoctlTimeout::Never).expect("set"), 13);
    device.write(b"abz").expect("room");
    assert_eq!(read_within(&device, PATIENCE), "bca");
    for wrong in [vec![], vec![26], vec![1, 2]] {
        let refused = device.ioctl(SET, &mut wrong.clone(), IoctlTimeout::Never).expect_err("refused");
        assert_eq!(refused.errno(), Errno::Inval);
    }
    assert_eq!(device.modules().look().expect("a driver"), "rot");
    assert_eq!(device.push("rot").expect_err("no module").errno(), Errno::Inval);
}

#[test]
fn slow_reader_stops_the_writer_of_a_driver() {
    let _alone = prepare();
    let options = DeviceOptions::new().stream(Options::new().hiwat(2000).lowat(500).maxpsz(512));
    let device = options.open_private("rot").expect("open");
    device.set_nonblocking(true).expect("arm");
    let mut written = 0;
    while device.putmsg(None, Some(&[b'a' + (written % 26) as u8; 400])).is_ok() {
        written += 1;
        assert!(written < 10_000, "nothing stops the writer");
    }
    // The driver's queue takes 65536 bytes, and the head's queue 2000.
    assert!((165..=180).contains(&written), "{written} messages");
    for number in 0..written {
        let got = device.receive().expect("no error").expect("it was sent");
        assert_eq!(got.data(), Some(&[b'a' + ((number + 13) % 26) as u8; 400][..]), "message {number}");
    }
    device.putmsg(None, Some(b"again")).expect("there is room");
}

#[test]
fn driver_returns_100_000_messages() {
    const COUNT: usize = 100_000;
    let _alone = prepare();
    let options = DeviceOptions::new().stream(Options::new().hiwat(4000).lowat(1000));
    let device = options.open_private("rot").expect("open");
    let writer = device.clone();
    let write = std::thread::spawn(move || {
        for number in 0..COUNT {
            writer.putmsg(None, Some(format!("n {number}").as_bytes())).expect("no error");
        }
    });
    for number in 0..COUNT {
        let got = device.receive().expect("no error").expect("more are to come");
        assert_eq!(got.data(), Some(format!("a {number}").as_bytes()));
        if number % 10_000 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    write.join().expect("no panic");
}

#[test]
fn driver_flushes_its_queue_and_returns_the_flush() {
    let _alone = prepare();
    let options = DeviceOptions::new().stream(Options::new().hiwat(1000).lowat(200).maxpsz(512));
    let device = options.nonblocking(true).open_private("rot").expect("open");
    while device.putmsg(None, Some(&[b'x'; 100])).is_ok() {}
    device.flush_queues(Flush::ALL).expect("flushed");
    assert_eq!(device.receive().expect_err("nothing is left").errno(), Errno::Again);
    device.putmsg(None, Some(b"new")).expect("room");
    assert_eq!(read_within(&device, PATIENCE), "arj");
}

/// A procedure sends into another stream. The library's thread does that, so that two writers do not wait for each
/// other.
#[test]
fn two_streams_send_into_each_other_with_flow_control() {
    const COUNT: usize = 5_000;
    let _alone = prepare();
    let options = DeviceOptions::new().stream(Options::new().hiwat(4000).lowat(1000));
    let ends = [(); 2].map(|()| options.open_private("relay").expect("open"));
    std::thread::scope(|scope| {
        for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
            scope.spawn(move || {
                for number in 0..COUNT {
                    from.putmsg(None, Some(format!("{number}").as_bytes())).expect("no error");
                }
            });
            scope.spawn(move || {
                for number in 0..COUNT {
                    let got = to.receive().expect("no error").expect("more are to come");
                    assert_eq!(got.data(), Some(format!("{number}").as_bytes()));
                }
            });
        }
    });
    // A thread of the driver sends from outside of procedures.
    ends[1].putmsg(Some(b"tell"), None).expect("room");
    for number in 0..100 {
        let got = ends[0].receive().expect("no error").expect("sent");
        assert_eq!((got.data(), got.priority()), (Some(&[number][..]), Priority::Band(1)));
    }
}

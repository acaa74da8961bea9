//! Every way in which bytes leave a band: when fewer than lowat are left, the band is open and a writer that waits is woken, once.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use headwater_streams::{ControlMode, Flush, MessageFilter, Options, Policy, ReadMode, ReadOptions, Result, Stream};

const SOON: Duration = Duration::from_secs(5);

/// With lanes and without.
const POLICIES: [Policy; 2] = [Policy::DEFAULT, Policy::EAGER.hysteresis(true)];

/// How the band is filled: 1200 bytes are above hiwat, 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// A message with a control part of 400 bytes and a data part of 800.
    Parts,
    /// A message of data.
    Data,
    /// Plain bytes.
    Plain,
}

/// What takes bytes: of the writer's end and the reader's.
type Take = fn(&Stream, &Stream, u8) -> Result<()>;

/// Takes that leave less than lowat, 300 bytes.
const WAYS: &[(&str, Fill, Take)] = &[
    ("whole", Fill::Parts, |_, far, band| get(far, Some(400), Some(800), band)),
    ("all data and a part of control", Fill::Parts, |_, far, band| get(far, Some(200), Some(800), band)),
    ("all control and a part of data", Fill::Parts, |_, far, band| get(far, Some(400), Some(600), band)),
    ("control alone, then a part of data", Fill::Parts, |_, far, band| {
        get(far, Some(400), None, band)?;
        get(far, None, Some(600), band)
    }),
    ("data alone, then a part of control", Fill::Parts, |_, far, band| {
        get(far, None, Some(800), band)?;
        get(far, Some(200), None, band)
    }),
    ("parts of data, then a part of control", Fill::Parts, |_, far, band| {
        get(far, Some(100), Some(300), band)?;
        get(far, None, Some(500), band)?;
        get(far, Some(100), None, band)
    }),
    ("receive", Fill::Parts, |_, far, _| far.receive().map(drop)),
    ("read of control as data", Fill::Parts, |_, far, _| read(far, ReadMode::Bytes, ControlMode::AsData, 1000)),
    ("read without control", Fill::Parts, |_, far, _| read(far, ReadMode::Bytes, ControlMode::Discard, 600)),
    ("RMSGN", Fill::Parts, |_, far, _| read(far, ReadMode::MessageKeep, ControlMode::AsData, 1000)),
    ("RMSGD", Fill::Parts, |_, far, _| read(far, ReadMode::MessageDiscard, ControlMode::AsData, 10)),
    ("RMSGD without control", Fill::Parts, |_, far, _| read(far, ReadMode::MessageDiscard, ControlMode::Discard, 10)),
    ("I_FLUSH", Fill::Parts, |near, _, _| near.flush_queues(Flush::READ)),
    ("I_FLUSHBAND", Fill::Parts, |near, _, band| near.flush_queues(Flush::READ.in_band(band))),
    ("a higher low-water mark", Fill::Parts, |_, far, _| far.settings().set_water_marks(2000, 1300)),
    ("a part of data", Fill::Data, |_, far, band| get(far, None, Some(1000), band)),
    ("RMSGD of data", Fill::Data, |_, far, _| read(far, ReadMode::MessageDiscard, ControlMode::Refuse, 10)),
    ("borrowed bytes", Fill::Data, |_, far, band| match band {
        0 => far.direct().borrow()?.expect("there").consume(1000),
        _ => get(far, None, Some(1000), band),
    }),
    ("read of bytes", Fill::Plain, |_, far, _| read(far, ReadMode::Bytes, ControlMode::Refuse, 1000)),
    ("getmsg of bytes", Fill::Plain, |_, far, band| get(far, None, Some(1000), band)),
    ("borrowed plain bytes", Fill::Plain, |_, far, _| far.direct().borrow()?.expect("there").consume(1000)),
    ("I_FLUSH of bytes", Fill::Plain, |near, _, _| near.flush_queues(Flush::READ)),
];

/// Takes that leave lowat or more, and looks, which take nothing.
const TOO_LITTLE: &[(&str, Take)] = &[
    ("data alone", |_, far, band| get(far, None, Some(800), band)),
    ("control and a part of data", |_, far, band| get(far, Some(400), Some(500), band)),
    ("parts of both", |_, far, band| get(far, Some(150), Some(750), band)),
    ("I_PEEK", |_, far, _| far.peek(Some(&mut [0; 400]), Some(&mut [0; 800]), MessageFilter::Any).map(drop)),
    ("poll", |_, far, _| far.poll(headwater_streams::Events::IN, Some(Duration::ZERO)).map(drop)),
    ("I_FLUSHBAND of another band", |near, _, _| near.flush_queues(Flush::READ.in_band(7))),
];

fn get(far: &Stream, control: Option<usize>, data: Option<usize>, band: u8) -> Result<()> {
    let (mut control, mut data) = (control.map(|len| vec![0; len]), data.map(|len| vec![0; len]));
    far.getpmsg(control.as_deref_mut(), data.as_deref_mut(), MessageFilter::Band(band)).map(drop)
}

fn read(far: &Stream, mode: ReadMode, control: ControlMode, len: usize) -> Result<()> {
    far.settings().set_read_options(ReadOptions::new().mode(mode).control(control))?;
    assert_eq!(far.read(&mut vec![0; len])?, len);
    Ok(())
}

/// A stream whose band is full, and a writer that waits for it.
fn full(policy: Policy, fill: Fill, band: u8, pause: Duration) -> (Stream, Stream, mpsc::Receiver<Result<()>>) {
    let (near, far) = Options::new().hiwat(1000).lowat(300).maxpsz(4096).policy(policy).pipe().expect("pipe");
    match fill {
        Fill::Parts => near.putpmsg(Some(&[1; 400]), Some(&[2; 800]), band).expect("room"),
        Fill::Data => near.putpmsg(None, Some(&[2; 1200]), band).expect("room"),
        Fill::Plain => assert_eq!(near.write(&[3; 1200]).expect("room"), 1200),
    }
    assert!(!near.can_put(band).expect("fine"), "1200 bytes are above hiwat");
    let mut own = near.direct();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(own.putpmsg(None, Some(b"next"), band)));
    std::thread::sleep(pause);
    assert!(receive.try_recv().is_err(), "the writer waits");
    (near, far, receive)
}

#[test]
fn the_low_water_mark_opens_the_band_and_wakes_its_writer_once() {
    // On the futex, and at the descriptor.
    for pause in [Duration::from_millis(3), Duration::from_millis(40)] {
        for (name, fill, take) in WAYS {
            for policy in POLICIES {
                for band in [0, 3] {
                    // Bytes have no band, and only a lane lends what is in it.
                    if band > 0 && *fill == Fill::Plain || name.starts_with("borrowed") && !policy.lane {
                        continue;
                    }
                    let what = format!("{name}, band {band}, {policy:?}, after {pause:?}");
                    let (mut near, mut far, written) = full(policy, *fill, band, pause);
                    let enabled =
                        |near: &Stream, far: &Stream| near.counters().back_enables + far.counters().back_enables;
                    let before = enabled(&near, &far);
                    take(&mut near, &mut far, band).unwrap_or_else(|error| panic!("{what}: {error}"));
                    let count = enabled(&near, &far) - before;
                    // A writer that waits for a band in the store is woken by takes of others, too; one that has not slept yet is not.
                    assert!(count <= 1 || band > 0 || !policy.lane, "{what}: {count} back-enables");
                    written.recv_timeout(SOON).unwrap_or_else(|_| panic!("{what}: the writer sleeps")).expect("room");
                    assert!(near.can_put(band).expect("fine"), "{what}: I_CANPUT");
                }
            }
        }
    }
}

#[test]
fn more_than_the_low_water_mark_keeps_the_band_closed() {
    for (name, take) in TOO_LITTLE {
        for policy in POLICIES {
            for band in [0, 3] {
                let (mut near, mut far, written) = full(policy, Fill::Parts, band, Duration::from_millis(15));
                take(&mut near, &mut far, band).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(!near.can_put(band).expect("fine"), "{name}, band {band}, {policy:?}: I_CANPUT");
                assert!(written.recv_timeout(Duration::from_millis(20)).is_err(), "{name}: the writer waits");
                near.flush_queues(Flush::READ).expect("flush");
                written.recv_timeout(SOON).expect("woken").expect("room");
            }
        }
    }
}

/// The writer waits for a queue of a module at the reader's end, which the reader's M_FLUSH passes on its way down. It is woken at
/// once, and does not only look by itself a second later.
#[test]
fn a_flush_that_a_module_meets_on_its_other_side_wakes_the_writer() {
    for pause in [Duration::from_millis(3), Duration::from_millis(40)] {
        for band in [0, 3] {
            let woken_after = |_| {
                let (near, far) = Options::new().hiwat(1000).lowat(300).pipe().expect("pipe");
                far.push("srvmod").expect("known");
                while near.can_put(band).expect("fine") {
                    near.putpmsg(None, Some(&[1; 900]), band).expect("room");
                }
                let mut own = near.direct();
                let (send, receive) = mpsc::channel();
                std::thread::spawn(move || send.send(own.putpmsg(None, Some(b"next"), band)));
                std::thread::sleep(pause);
                assert!(receive.try_recv().is_err(), "the writer waits");
                let begin = Instant::now();
                far.flush_queues(Flush::READ).expect("flush");
                receive.recv_timeout(SOON).expect("the writer is woken").expect("room");
                begin.elapsed()
            };
            // The shortest of some times: others may be those of a busy machine.
            let shortest = (0..3).map(woken_after).min().expect("three");
            assert!(shortest < Duration::from_millis(300), "band {band}, after {pause:?}: woken after {shortest:?}");
        }
    }
}

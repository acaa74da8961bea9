//! Lower streams that the driver `mux` connects with each other: what processes do not know of each other send goes from one stream into
//! another, and no process reads above.

use std::io::{Read, Write};
use std::time::Duration;

use headwater_streams::{Errno, IoctlTimeout, MuxId, Options, Stream, drivers};

use super::{PATIENCE, echo, ends, errno, get, mux, send, text};
use crate::common::{calm, child, in_own_process, joined, within};

fn route(hub: &Stream, from: MuxId, to: Option<MuxId>) -> headwater_streams::Result<i32> {
    let mut ids = [from.bytes(), to.map_or([0; MuxId::LEN], MuxId::bytes)].concat();
    hub.ioctl(drivers::mux::ioctl::ROUTE, &mut ids, IoctlTimeout::Usual)
}

#[test]
fn lower_streams_are_connected_and_taken_apart_again() {
    in_own_process!();
    within(PATIENCE, "routes".to_owned());
    let (hub, (near, client), (other_near, other)) = (mux(), ends(), ends());
    let (one, two) = (hub.links().link(&near).expect("linked"), hub.links().link(&other_near).expect("linked"));
    let device = hub.links().link(&echo()).expect("linked");
    // Two clients share a device; what it answers goes to one of them.
    for (from, to) in [(one, device), (two, device), (device, two)] {
        route(&hub, from, Some(to)).expect("acknowledged");
    }
    client.write(b"from one").expect("room");
    assert_eq!(text(&other), "from one");
    other.write(b"from two").expect("room");
    assert_eq!(text(&other), "from two");
    // Bands and control parts go along.
    client.putpmsg(Some(b"control"), Some(b"data"), 2).expect("room");
    let message = other.receive().expect("no error").expect("there");
    assert_eq!((message.control(), message.data()), (Some(&b"control"[..]), Some(&b"data"[..])));
    assert_eq!(message.priority(), headwater_streams::Priority::Band(2));
    // Elsewhere, and up again.
    route(&hub, one, Some(two)).expect("acknowledged");
    client.write(b"straight").expect("room");
    assert_eq!(text(&other), "straight");
    route(&hub, one, None).expect("acknowledged");
    client.write(b"up").expect("room");
    assert_eq!(get(&hub), (one, Some("up".to_owned())));
    send(&hub, one, b"down").expect("room");
    assert_eq!(text(&client), "down");
    // An unlink ends the routes of a stream, and an end is told above.
    route(&hub, one, Some(two)).expect("acknowledged");
    hub.links().unlink(Some(two)).expect("acknowledged");
    client.write(b"nowhere else").expect("room");
    assert_eq!(get(&hub), (one, Some("nowhere else".to_owned())));
    assert_eq!(errno(route(&hub, one, Some(two))), Errno::Nxio);
    assert_eq!(errno(route(&hub, two, Some(one))), Errno::Nxio);
    let short = hub.ioctl(drivers::mux::ioctl::ROUTE, &mut vec![1; 7], IoctlTimeout::Usual);
    assert_eq!(errno(short), Errno::Inval);
    drop(client);
    assert_eq!(get(&hub), (one, None));
    calm();
}

/// Messages that each client sends, of 500 bytes.
const MESSAGES: u32 = 200;

#[test]
fn processes_that_know_only_their_own_stream_send_each_other_all_with_flow_control() {
    in_own_process!();
    let options = Options::new().hiwat(4000).lowat(1000).maxpsz(1000);
    for round in 0..3 {
        within(PATIENCE, format!("clients of a hub, round {round}"));
        let [(near, client), (other_near, other)] = [(); 2].map(|()| options.pipe().expect("pipe"));
        let (told, begin) = std::io::pipe().expect("pipe");
        let told = &told;
        // Neither has the hub, or the other one's stream.
        let children = [client, other].map(|end| {
            child(move || {
                { told }.read_exact(&mut [0]).expect("the test says when");
                let mut writer = end.direct();
                let sender = std::thread::spawn(move || {
                    (0..MESSAGES).try_for_each(|number| writer.write(&number.to_ne_bytes().repeat(125)).map(drop))
                });
                for number in 0..MESSAGES {
                    let mut bytes = [0; 500];
                    let mut got = 0;
                    while got < 500 {
                        got += end.read(&mut bytes[got..])?;
                    }
                    assert_eq!(bytes[..], number.to_ne_bytes().repeat(125)[..], "message {number}");
                    if number % 50 == 0 {
                        // Long enough for all queues on the way to be full.
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
                sender.join().expect("no panic")
            })
        });
        let hub = mux();
        let (one, two) = (hub.links().link(&near).expect("linked"), hub.links().link(&other_near).expect("linked"));
        route(&hub, one, Some(two)).expect("acknowledged");
        route(&hub, two, Some(one)).expect("acknowledged");
        (&begin).write_all(b"12").expect("they wait");
        children.into_iter().for_each(joined);
    }
    calm();
}

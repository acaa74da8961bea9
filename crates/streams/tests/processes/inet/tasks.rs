//! Tasks of a tokio runtime over the kernel's sockets.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_streams::tpi::{InternetAddress, Primitive};
use headwater_streams::{AsyncStream, Message};

use super::{PATIENCE, bound_to, is};
use crate::common::{in_own_process, within};

fn bound() -> (AsyncStream, SocketAddr) {
    let (endpoint, address) = bound_to("inet-udp", "127.0.0.1:0", 0);
    (AsyncStream::new(endpoint).expect("a runtime"), address)
}

/// The next message. At the end of its time `timeout` looks once more, and finds what no wakeup told of: so the time is looked at, too.
async fn next(endpoint: &mut AsyncStream) -> Message<'static> {
    const LIMIT: Duration = Duration::from_secs(10);
    let start = Instant::now();
    let received = tokio::time::timeout(LIMIT, endpoint.receive()).await;
    assert!(start.elapsed() < LIMIT, "the task was not woken; at the end of its time it found {received:?}");
    received.expect("in time").expect("no error").expect("no end")
}

fn request(to: &[u8]) -> Vec<u8> {
    Primitive::UnitdataReq { destination: to, options: b"" }.encode()
}

#[test]
fn tasks_exchange_datagrams_and_are_woken_by_a_plain_socket_and_by_an_error() {
    in_own_process!();
    within(PATIENCE, "datagrams of tasks".to_owned());
    const COUNT: u32 = 300;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (mut server, to) = bound();
        let (mut client, from) = bound();
        let (to_server, to_client) = (InternetAddress::from(to), InternetAddress::from(from));
        let serving = tokio::spawn(async move {
            for _ in 0..COUNT {
                let question = next(&mut server).await;
                is(&question, Primitive::UnitdataInd { source: to_client.bytes(), options: b"" });
                let answer =
                    Message::proto_of(&request(to_client.bytes()), question.data().expect("data")).into_owned();
                server.send_message(&answer).await.expect("room");
            }
            server
        });
        for number in 0..COUNT {
            let question = Message::proto_of(&request(to_server.bytes()), &number.to_ne_bytes()).into_owned();
            client.send_message(&question).await.expect("room");
            let answer = next(&mut client).await;
            is(&answer, Primitive::UnitdataInd { source: to_server.bytes(), options: b"" });
            assert_eq!(answer.data(), Some(&number.to_ne_bytes()[..]));
        }
        let mut server = serving.await.expect("no panic");
        assert!(tokio::time::timeout(Duration::from_millis(20), server.receive()).await.is_err(), "there was nothing");
        let sender = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            UdpSocket::bind("127.0.0.1:0").expect("a port").send_to(b"plain", to).expect("room");
        });
        assert_eq!(next(&mut server).await.data(), Some(&b"plain"[..]));
        sender.join().expect("no panic");
        // No program has the port any more.
        drop(server);
        client.send_message(&Message::proto_of(&request(to_server.bytes()), b"x").into_owned()).await.expect("room");
        let error = libc::ECONNREFUSED as u32;
        is(&next(&mut client).await, Primitive::UderrorInd { destination: to_server.bytes(), options: b"", error });
    });
}

#[test]
fn the_address_of_a_closed_endpoint_is_free_at_once() {
    in_own_process!();
    within(PATIENCE, "endpoints are closed while a thread serves them".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let plain = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
    runtime.block_on(async {
        for round in 0..100 {
            let (mut server, to) = bound();
            // The task sleeps until the library's thread has received this for it, and runs while the thread has not ended its round.
            let (plain, sender) = (plain.clone(), to);
            let sender = std::thread::spawn(move || plain.send_to(b"plain", sender).expect("room"));
            assert_eq!(next(&mut server).await.data(), Some(&b"plain"[..]));
            drop(server);
            UdpSocket::bind(to).unwrap_or_else(|error| panic!("round {round}: {to}: {error}"));
            sender.join().expect("no panic");
        }
    });
}

//! The same calls over the kernel's transports, with programs that use sockets of the kernel.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};

use headwater_streams::tpi::InternetAddress;
use headwater_xti::{Binding, Call, Endpoint, Look, OptionList, SendFlags, State, TransportError as E};

use super::{directory, event, fails, open};

fn bytes(address: SocketAddr) -> Vec<u8> {
    InternetAddress::from(address).bytes().to_vec()
}

/// Binds to a free port of the loop-back interface.
fn bind(endpoint: &Endpoint, waiting: u32) -> SocketAddr {
    let asked = Binding::to(&bytes((Ipv4Addr::LOCALHOST, 0).into())).listening(waiting);
    InternetAddress::decode(&endpoint.bind(&asked).expect("a free port").address).expect("an address")
}

#[test]
fn datagrams_reach_a_socket_and_come_back() {
    let place = directory();
    let endpoint = open(place.path(), "inet-udp");
    let own = bind(&endpoint, 0);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let other = bytes(socket.local_addr().expect("known"));
    endpoint.send_to(&other, &[], b"to a socket").expect("sent");
    let mut data = [0; 64];
    assert_eq!(socket.recv_from(&mut data).expect("it has come"), (11, own));
    socket.send_to(b"and back", own).expect("sent");
    let mut address = [0; 28];
    let got = endpoint.receive_from(&mut address, &mut [], &mut data).expect("it has come");
    assert_eq!((&data[..got.data], &address[..got.address]), (&b"and back"[..], &other[..]));
    drop(socket);
    endpoint.send_to(&other, &[], b"to no socket").expect("sent");
    event(&endpoint, Look::DatagramError);
    assert_eq!(endpoint.receive_error().expect("it is there").error, 111);
}

#[test]
fn kernel_socket_accepts_and_releases_in_order() {
    let place = directory();
    let endpoint = open(place.path(), "inet-tcp");
    bind(&endpoint, 0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let address = bytes(listener.local_addr().expect("known"));
    let serving = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a caller");
        let mut text = [0; 4];
        socket.read_exact(&mut text).expect("it has come");
        socket.write_all(&text).expect("sent");
        socket.shutdown(Shutdown::Write).expect("it ends");
        socket.read_to_end(&mut Vec::new()).expect("the other end ends, too")
    });
    assert_eq!(endpoint.connect(&Call::to(&address)).expect("accepted").address, address);
    assert_eq!(endpoint.send(b"ping", SendFlags::default()), Ok(4));
    let mut text = [0; 16];
    assert_eq!(endpoint.receive(&mut text).expect("it has come").len, 4);
    event(&endpoint, Look::Release);
    endpoint.receive_release().expect("it is there");
    endpoint.release(&[]).expect("it releases");
    assert_eq!((serving.join().expect("no panic"), endpoint.state()), (0, State::Idle));
}

#[test]
fn kernel_socket_connects_and_resets() {
    let place = directory();
    let (listener, acceptor) = (open(place.path(), "inet-tcp"), open(place.path(), "inet-tcp"));
    let address = bind(&listener, 3);
    let mut socket = TcpStream::connect(address).expect("it listens");
    let caller = listener.listen().expect("a caller");
    assert_eq!(caller.call.address, bytes(socket.local_addr().expect("known")));
    listener.accept(&acceptor, caller.sequence, &Call::default()).expect("it accepts");
    socket.write_all(b"hello").expect("sent");
    let mut text = [0; 16];
    assert_eq!(acceptor.receive(&mut text).expect("it has come").len, 5);
    acceptor.send(b"unread", SendFlags::default()).expect("sent");
    // A socket that is closed with unread data resets its connection.
    let mut one = [0; 1];
    socket.read_exact(&mut one).expect("it has come");
    drop(socket);
    event(&acceptor, Look::Disconnect);
    fails(acceptor.receive(&mut text), E::Look);
    assert_eq!(acceptor.receive_disconnect().expect("it is there").reason, 104);
    assert_eq!((acceptor.state(), listener.state()), (State::Idle, State::Idle));
}

#[test]
fn refused_connection_and_socket_options() {
    const INET_IP: u32 = 0;
    let place = directory();
    let endpoint = open(place.path(), "inet-tcp");
    bind(&endpoint, 0);
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket").local_addr().expect("known");
    fails(endpoint.connect(&Call::to(&bytes(closed))), E::Look);
    assert_eq!(endpoint.receive_disconnect().expect("it is there").reason, 111);
    let all = OptionList::new().with_all(INET_IP);
    let (options, _) = endpoint.manage_options(&all, headwater_xti::ManagementFlags::CURRENT).expect("they are there");
    assert!(options.iter().filter_map(Result::ok).any(|option| option.level == INET_IP && option.name == 3));
}

//! Two network namespaces with one directory of devices.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use headwater_streams::Result;

use super::{PATIENCE, REFUSED, address, bound, is_empty, received, reported, send};
use crate::common::{calm, child, in_own_process, private_directory, within};

/// This process has a new network namespace from now on. False: that is not permitted here.
fn alone_in_the_network() -> bool {
    // SAFETY: it has no arguments that could be wrong; the process has one thread, being a fresh child.
    unsafe { libc::unshare(libc::CLONE_NEWNET) == 0 }
}

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

#[test]
fn two_network_namespaces_meet_on_the_wire_alone() {
    in_own_process!();
    within(PATIENCE, "two network namespaces".to_owned());
    let directory = private_directory();
    let mut process = child(|| {
        if !alone_in_the_network() || !ip("link set lo up") || !ip("link add here type veth peer name there") {
            eprintln!("skipped: no permission for network namespaces, or no ip(8)");
            return Ok(());
        }
        one_side(directory.path())
    });
    assert!(process.wait().expect("wait").success());
    calm();
}

fn one_side(directory: &Path) -> Result<()> {
    let (mut told, said) = std::io::pipe()?;
    let (wait, mut go) = std::io::pipe()?;
    let mut other = child(|| {
        assert!(alone_in_the_network());
        (&said).write_all(&std::process::id().to_le_bytes())?;
        (&wait).read_exact(&mut [0])?;
        assert!(ip("link set lo up") && ip("addr add 10.77.0.2/24 dev there") && ip("link set there up"));
        let (echo, _) = bound(directory, "10.77.0.2:5000");
        let (_quiet, _) = bound(directory, "127.0.0.1:5001");
        let (only_here, _) = bound(directory, "127.0.0.1:5002");
        (&said).write_all(b"x")?;
        for _ in 0..10 {
            let (data, from) = received(&echo);
            send(&echo, from, &data);
        }
        assert!(is_empty(&only_here));
        Ok(())
    });
    let mut number = [0; 4];
    told.read_exact(&mut number)?;
    assert!(ip(&format!("link set there netns {}", u32::from_le_bytes(number))));
    assert!(ip("addr add 10.77.0.1/24 dev here") && ip("link set here up"));
    go.write_all(b"x")?;
    told.read_exact(&mut [0])?;
    let (endpoint, own) = bound(directory, "10.77.0.1:5000");
    let there = address("10.77.0.2:5000");
    // The link may need a moment.
    let mut tries = 0;
    while is_empty(&endpoint) {
        send(&endpoint, there, b"hello");
        tries += 1;
        assert!(tries < 9, "the link does not come up");
    }
    assert_eq!(received(&endpoint), (b"hello".to_vec(), there));
    // A port of the same number is free here, and a datagram to it stays here.
    let (same, at) = bound(directory, "127.0.0.1:5001");
    send(&same, at, b"own");
    assert_eq!(received(&same), (b"own".to_vec(), at));
    // One that is only there is not reached through the directory.
    send(&same, address("127.0.0.1:5002"), b"x");
    assert_eq!(reported(&same, address("127.0.0.1:5002")), REFUSED);
    // Within one namespace the address of the link goes through memory: more than a socket keeps.
    let (from, _) = bound(directory, "0.0.0.0:0");
    for _ in 0..60 {
        send(&from, own, &[1; 1000]);
    }
    for _ in 0..60 {
        assert_eq!(received(&endpoint).1, address(&format!("10.77.0.1:{}", port_of(&from))));
    }
    for _ in tries..10 {
        send(&endpoint, there, b"end");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(other.wait()?.success());
    Ok(())
}

fn port_of(endpoint: &headwater_streams::Stream) -> u16 {
    use headwater_streams::tpi::{InternetAddress, Primitive};
    super::ask(endpoint, Primitive::AddrReq);
    let answer = endpoint.receive().expect("no error").expect("no end");
    match Primitive::decode(answer.control().expect("an answer")) {
        Ok(Primitive::AddrAck { local, .. }) => InternetAddress::decode(local).expect("an address").port(),
        other => panic!("{other:?}"),
    }
}

//! ZeroMQ PAIR sockets over ipc:// (a Unix stream socket that an I/O thread of the library serves at each end).
//!
//! Each socket holds 64 KiB of messages, as a pipe does, but at least 8.

use std::path::PathBuf;

use headwater_peer::message::{Order, Role};
use headwater_peer::{Description, End, Failure, serve};
use zmq::{Context, PAIR, Socket};

struct Pair {
    // Dropped before the context, because the context waits for its sockets when it is dropped.
    socket: Socket,
    _context: Context,
}

fn path(order: &Order) -> PathBuf {
    order.directory.join(format!("{}.zmq", order.token))
}

fn failed(call: &'static str) -> impl Fn(zmq::Error) -> Failure {
    move |error| Failure::of(call, error)
}

impl End for Pair {
    fn open(order: &Order) -> Result<Pair, Failure> {
        let context = Context::new();
        let socket = context.socket(PAIR).map_err(failed("zmq_socket"))?;
        let depth = (65_536 / order.size).clamp(8, 1000) as i32;
        socket.set_sndhwm(depth).map_err(failed("ZMQ_SNDHWM"))?;
        socket.set_rcvhwm(depth).map_err(failed("ZMQ_RCVHWM"))?;
        socket.set_linger(0).map_err(failed("ZMQ_LINGER"))?;
        let address = format!("ipc://{}", path(order).display());
        match order.role {
            Role::Receiver => socket.bind(&address).map_err(failed("zmq_bind"))?,
            Role::Sender => socket.connect(&address).map_err(failed("zmq_connect"))?,
        }
        Ok(Pair { socket, _context: context })
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.socket.send(message, 0).map_err(failed("zmq_send"))
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let length = self.socket.recv_into(buffer, 0).map_err(failed("zmq_recv"))?;
        if length == buffer.len() {
            Ok(())
        } else {
            Err(Failure::Broken(format!("a message of {length} bytes instead of {}", buffer.len())))
        }
    }

    fn remove(order: &Order) {
        // The library may have removed it.
        let _ = std::fs::remove_file(path(order));
    }
}

fn main() {
    let (major, minor, patch) = zmq::version();
    serve::<Pair>(Description {
        name: "zeromq",
        version: format!("{major}.{minor}.{patch}"),
        summary: "ZeroMQ PAIR sockets over ipc://",
        blocking: "sleeps in zmq_send and zmq_recv; an I/O thread at each end",
    })
}

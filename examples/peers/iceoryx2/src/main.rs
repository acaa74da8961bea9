//! iceoryx2 publish-subscribe: messages in shared memory, offsets in lock-free queues. Programs use it without copying;
//! here the payload is copied in and out, as in every other row.
//!
//! A waiting end spins, then yields; to sleep, a program would have to send an event of the library with each message.
//! The subscriber's queue holds 64 KiB of messages, as a pipe does, but at least 8 and at most 1024.

use std::fs;
use std::hint::spin_loop;
use std::os::unix::ffi::OsStrExt;

use headwater_peer::message::{Order, Pattern, Role};
use headwater_peer::{Description, End, Failure, serve};
use iceoryx2::config::Config;
use iceoryx2::node::{Node, NodeBuilder};
use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

/// Attempts before a waiting end yields.
const SPINS: u32 = 200;

struct PublishSubscribe {
    outgoing: Option<Publisher<ipc::Service, [u8], ()>>,
    incoming: Option<Subscriber<ipc::Service, [u8], ()>>,
    _services: Vec<PortFactory<ipc::Service, [u8], ()>>,
    _node: Node<ipc::Service>,
}

/// Returns the prefix of the names of all files of a launch, including those in /dev/shm.
fn prefix(order: &Order) -> String {
    format!("{}_", order.token)
}

fn failed<T: std::fmt::Debug>(call: &'static str) -> impl Fn(T) -> Failure {
    move |error| Failure::Broken(format!("{call}: {error:?}"))
}

fn config(order: &Order) -> Result<Config, Failure> {
    let mut config = Config::default();
    let root = Path::new(order.directory.as_os_str().as_bytes()).map_err(failed("root path"))?;
    config.global.set_root_path(&root);
    config.global.prefix = FileName::new(prefix(order).as_bytes()).map_err(failed("prefix"))?;
    Ok(config)
}

impl PublishSubscribe {
    fn service(&mut self, order: &Order, name: &str) -> Result<PortFactory<ipc::Service, [u8], ()>, Failure> {
        let name = ServiceName::new(name).map_err(failed("service name"))?;
        self._node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .max_publishers(1)
            .max_subscribers(1)
            .history_size(0)
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size((65_536 / order.size).clamp(8, 1024))
            .subscriber_max_borrowed_samples(1)
            .open_or_create()
            .map_err(failed("service"))
    }

    fn publish(&mut self, order: &Order, name: &str) -> Result<(), Failure> {
        let service = self.service(order, name)?;
        let publisher = service
            .publisher_builder()
            .initial_max_slice_len(order.size)
            .max_loaned_samples(1)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()
            .map_err(failed("publisher"))?;
        self.outgoing = Some(publisher);
        self._services.push(service);
        Ok(())
    }

    fn subscribe(&mut self, order: &Order, name: &str) -> Result<(), Failure> {
        let service = self.service(order, name)?;
        self.incoming = Some(service.subscriber_builder().create().map_err(failed("subscriber"))?);
        self._services.push(service);
        Ok(())
    }
}

impl End for PublishSubscribe {
    fn open(order: &Order) -> Result<PublishSubscribe, Failure> {
        let node = NodeBuilder::new().config(&config(order)?).create::<ipc::Service>().map_err(failed("node"))?;
        let mut end = PublishSubscribe { outgoing: None, incoming: None, _services: Vec::new(), _node: node };
        match (order.role, order.pattern) {
            (Role::Receiver, Pattern::Stream) => end.subscribe(order, "forth")?,
            (Role::Sender, Pattern::Stream) => end.publish(order, "forth")?,
            (Role::Receiver, Pattern::Rtt) => {
                end.subscribe(order, "forth")?;
                end.publish(order, "back")?;
            }
            (Role::Sender, Pattern::Rtt) => {
                end.publish(order, "forth")?;
                end.subscribe(order, "back")?;
            }
        }
        Ok(end)
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        let publisher = self.outgoing.as_ref().ok_or_else(|| Failure::Broken("this end does not send".into()))?;
        loop {
            let sample = publisher.loan_slice_uninit(message.len()).map_err(failed("loan"))?;
            if sample.write_from_slice(message).send().map_err(failed("send"))? > 0 {
                return Ok(());
            }
            // The subscriber is connected by its first receive; until then a full queue refuses messages.
            std::thread::yield_now();
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let subscriber = self.incoming.as_ref().ok_or_else(|| Failure::Broken("this end does not receive".into()))?;
        let mut attempts = 0;
        loop {
            if let Some(sample) = subscriber.receive().map_err(failed("receive"))? {
                let message = sample.payload();
                if message.len() != buffer.len() {
                    let (length, size) = (message.len(), buffer.len());
                    return Err(Failure::Broken(format!("a message of {length} bytes instead of {size}")));
                }
                buffer.copy_from_slice(message);
                return Ok(());
            }
            attempts += 1;
            if attempts < SPINS { spin_loop() } else { std::thread::yield_now() }
        }
    }

    fn remove(order: &Order) {
        // Files in the directory are removed with it, but shared memory objects are not in it.
        let prefix = prefix(order);
        for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
                // The other end may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn main() {
    set_log_level(LogLevel::Fatal);
    serve::<PublishSubscribe>(Description {
        name: "iceoryx2",
        version: "0.10.0".into(),
        summary: "iceoryx2 publish-subscribe, copied in and out",
        blocking: "spins, then yields",
    })
}

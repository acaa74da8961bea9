//! What several processes do with streams. Each test that forks has a process of its own (`in_own_process!`), so that all of them
//! are one program: it is linked once, and while one test waits, others run.

mod anchor;
mod attached;
mod autopush;
mod bufmod;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/datagrams.rs"]
mod datagrams;
mod death;
mod devices;
mod driver_files;
#[path = "../common/endpoints.rs"]
mod endpoints;
mod fallback_directory;
mod faults_of_others;
mod fifo;
mod forged_files;
mod forged_signals;
#[cfg(feature = "tokio")]
mod forks;
mod handed;
mod inet;
mod inspect;
mod limits;
mod listener;
mod log_driver;
mod loops;
mod members;
mod module_memory;
mod multiplexers;
mod named_devices;
mod packet_sizes;
mod pipes;
mod senders;
mod strangers;
mod stream;
#[cfg(feature = "tokio")]
mod surroundings;
mod transports;
mod udp;
mod unmodified;
mod users;
mod without_proc;

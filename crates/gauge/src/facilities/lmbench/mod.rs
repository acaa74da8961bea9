//! `lmbench`: the rows of the LMbench tables with which reports compare kernels. They are "lmbench-equivalent":
//! implemented from the definitions in docs/lmbench.md, without the original's code. One file per operation, and the
//! table below.
//!
//! Ids, metrics and units are those of the published table `ltt` and of `import lmbench`, so that old results can be
//! compared with new ones. The round trips of pipe, AF_UNIX, UDP and TCP are rows of pattern `rtt`. docs/lmbench.md
//! explains each row, and how it differs from the original.

use headwater_results::schema::lmbench_definition;

use super::operation::{self, entry};
use super::{Entry, Info};
use crate::harness::conduct::Job;

pub mod bandwidth;
pub mod context_switch;
pub mod copy;
pub mod create;
pub mod delete;
pub mod execve;
mod existing_file;
pub mod file_reread;
mod file_set;
pub mod fork;
pub mod fstat;
pub mod http;
pub mod memory;
pub mod memory_latency;
mod memory_loops;
pub mod mhz;
pub mod mmap_latency;
pub mod mmap_reread;
pub mod null_call;
pub mod null_io;
pub mod open_close;
pub mod page_fault;
pub mod prot_fault;
pub mod rpc;
mod rpc_message;
pub mod select;
pub mod sh;
pub mod signal_handle;
pub mod signal_install;
pub(crate) mod small_program;
pub mod stat;
pub mod tcp_connect;

/// Whether the row makes its system calls itself. The other rows call the C library's functions, as the original does.
fn is_inline(job: &Job) -> bool {
    job.row.subject.ends_with("-inline")
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "lmbench",
        definition_version: lmbench_definition,
        summary: "basic operations of the kernel and of memory, equivalent to the rows of LMbench",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

/// Every operation, in the order of the tables.
static TABLE: &[operation::Entry] = &[
    entry::<null_call::NullCall>(),
    entry::<null_io::NullIo>(),
    entry::<stat::Stat>(),
    entry::<fstat::Fstat>(),
    entry::<open_close::OpenClose>(),
    entry::<signal_install::SignalInstall>(),
    entry::<signal_handle::SignalHandle>(),
    entry::<fork::Fork>(),
    entry::<execve::Execve>(),
    entry::<sh::Sh>(),
    entry::<select::SelectCall>(),
    entry::<context_switch::ContextSwitch>(),
    entry::<rpc::Rpc<rpc::Udp>>(),
    entry::<rpc::Rpc<rpc::Tcp>>(),
    entry::<tcp_connect::TcpConnect>(),
    entry::<http::Http>(),
    entry::<create::Create>(),
    entry::<delete::Delete>(),
    entry::<mmap_latency::MmapLatency>(),
    entry::<prot_fault::ProtFault>(),
    entry::<page_fault::PageFault>(),
    entry::<bandwidth::Bandwidth>(),
    entry::<file_reread::FileReread>(),
    entry::<mmap_reread::MmapReread>(),
    entry::<copy::Copy>(),
    entry::<memory::Memory>(),
    entry::<mhz::Mhz>(),
    entry::<memory_latency::MemoryLatency>(),
];

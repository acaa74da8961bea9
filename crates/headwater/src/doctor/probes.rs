//! Probes that only the checks need, because they are not part of the stored environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use headwater_gauge::environment::{Source, parse_cpu_max};
use headwater_os::{clock, rseq, ticks};
use headwater_os_tools::limits;
use headwater_os_tools::machine::{self, Group};
use headwater_trace::region::Layout;
use headwater_trace_tools::kernel::{self, Support, Tracefs};

use crate::trace;

/// The results of the probes.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Whether the user is root, so that commands need no `sudo`.
    pub is_root: bool,
    /// Cost of one clock read, ns.
    pub clock_read_ns: f64,
    /// Whether a private IPC namespace can be made.
    pub private_ipc: PrivateIpc,
    /// The processor's switch for turbo or boost, if the kernel has one.
    pub turbo: Option<Turbo>,
    /// `/sys/devices/system/cpu/smt/control`.
    pub smt_control: Option<String>,
    /// The file with the lowest CPU quota, if there is a quota.
    pub cpu_quota: Option<CpuQuota>,
    /// The directory of shared memory.
    pub shared_memory: ProbedDirectory,
    /// The directory of FIFOs and sockets.
    pub temporary: ProbedDirectory,
    /// Hard limits by name; `None` means unlimited.
    pub hard_limits: BTreeMap<String, Option<u64>>,
    /// The preconditions of `headwater trace`; `None` if they were not checked.
    pub tracer: Option<Tracer>,
}

/// The preconditions of tracing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracer {
    /// The reason why the processor's counter cannot serve as a clock.
    pub counter_unsound: Option<String>,
    /// Whether programs can use restartable sequences.
    pub has_sequences: bool,
    /// The reason why events of the kernel cannot be recorded.
    pub kernel_obstacle: Option<String>,
    /// Bytes that a session allocates by default.
    pub session_bytes: u64,
    /// The memory of sessions whose recorder has died.
    pub abandoned: Vec<PathBuf>,
    /// Instances of tracefs whose tool and guard were killed.
    pub instances: Vec<PathBuf>,
}

/// Whether queues can have limits of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PrivateIpc {
    /// A namespace can be created, and its limits can be raised.
    #[default]
    Possible,
    /// A namespace can be created, but its limits cannot be raised.
    LimitsFixed,
    /// A namespace cannot be created, with the reason.
    Refused(String),
}

/// A switch for frequencies above the nominal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turbo {
    /// The file of the switch.
    pub file: &'static str,
    /// Its present contents.
    pub present: String,
    /// Its contents when turbo is off.
    pub off: &'static str,
}

/// A CPU quota of a version 2 control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// Its `cpu.max`.
    pub file: PathBuf,
    /// Its present contents: `QUOTA PERIOD` in us.
    pub present: String,
}

/// A directory in which rows create files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbedDirectory {
    /// The directory.
    pub path: PathBuf,
    /// The reason why no file can be created in it.
    pub error: Option<String>,
    /// Free bytes of its file system.
    pub free_bytes: u64,
}

impl Probes {
    /// Probes this machine.
    pub fn take() -> Probes {
        let source = Source::machine();
        Probes {
            is_root: machine::is_root(),
            clock_read_ns: clock::measure().read_ns,
            private_ipc: match machine::try_private_ipc() {
                machine::PrivateIpc::Possible => PrivateIpc::Possible,
                machine::PrivateIpc::LimitsFixed => PrivateIpc::LimitsFixed,
                machine::PrivateIpc::Refused(error) => PrivateIpc::Refused(error.to_string()),
            },
            turbo: turbo(&source),
            smt_control: source.read("/sys/devices/system/cpu/smt/control"),
            cpu_quota: cpu_quota(&source, &Group::own()),
            shared_memory: probe_directory(Path::new("/dev/shm")),
            temporary: probe_directory(&std::env::temp_dir()),
            tracer: Some(Tracer::probe()),
            hard_limits: limits::all().map(|limit| (limit.name.to_owned(), limit.hard)).collect(),
        }
    }
}

impl Tracer {
    fn probe() -> Tracer {
        let found = trace::found(Path::new(trace::HOME)).into_iter();
        Tracer {
            counter_unsound: ticks::unsound(),
            has_sequences: rseq::is_available(),
            kernel_obstacle: Support::look().obstacle().map(str::to_owned),
            session_bytes: Layout::file_bytes(trace::BUFFER_BYTES) as u64,
            abandoned: found.filter(|session| !session.is_live).map(|session| session.path).collect(),
            instances: stale_instances().unwrap_or_default(),
        }
    }
}

/// Returns the abandoned instances of tracefs, as a user finds them once tracefs is mounted.
fn stale_instances() -> Result<Vec<PathBuf>, kernel::Error> {
    let found = Tracefs::find()?;
    Ok(kernel::stale(&found)?.iter().map(|path| found.usual_path(path)).collect())
}

fn turbo(source: &Source) -> Option<Turbo> {
    // Intel's driver has a switch that turns turbo off, the other drivers one that turns it on.
    let switches =
        [("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"), ("/sys/devices/system/cpu/cpufreq/boost", "0")];
    switches.into_iter().find_map(|(file, off)| Some(Turbo { file, present: source.read(file)?, off }))
}

fn cpu_quota(source: &Source, groups: &[Group]) -> Option<CpuQuota> {
    let files = groups.iter().flat_map(|group| &group.directories).map(|directory| directory.join("cpu.max"));
    let quotas = files.filter_map(|file| {
        let present = source.read(&file)?;
        Some((parse_cpu_max(&present)?, CpuQuota { file, present }))
    });
    quotas.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, quota)| quota)
}

fn probe_directory(path: &Path) -> ProbedDirectory {
    ProbedDirectory {
        path: path.to_owned(),
        error: machine::may_write(path).err().map(|error| error.to_string()),
        free_bytes: machine::free_space(path).map_or(0, |free| free.bytes),
    }
}

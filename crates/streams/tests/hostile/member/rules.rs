//! The system calls that the library may make for a process whose streams a hostile member has mapped, whatever that member writes: each
//! call with what is expected of its arguments. A call that is not named here is unexpected.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use super::seccomp::{Asked, Number};

/// Calls that change nothing beyond the process and its descriptors, wherever their arguments come from. Where they get a descriptor, a
/// wrong one is found by what the victim keeps open (`victim::Kept`).
pub const FREE: &[Number] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    // They look at a file, and there are thousands of them in a search of /proc.
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_pidfd_open,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_socketpair,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_getdents64,
    libc::SYS_memfd_create,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_set_robust_list,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_restart_syscall,
    // On which x86_64 has calls of its own.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// Commands of fcntl(2) that have the kernel send signals, or lock bytes of a file.
pub const ASKED: &[libc::c_int] = &[
    libc::F_SETOWN,
    10, // F_SETSIG
    15, // F_SETOWN_EX
    libc::F_SETLEASE,
    libc::F_NOTIFY,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
];

/// The largest mapping, and the longest file: a stream with the largest options has less.
const LEN_MAX: u64 = 2 << 30;

/// The supervised process, and what is expected of it.
#[derive(Debug)]
pub struct Expected {
    pub victim: u32,
    pub memory: File,
    /// Processes that have the streams' memory mapped.
    pub members: Vec<u32>,
    /// Where the streams have their names: nothing else is changed.
    pub directory: PathBuf,
    /// Names in it that belong to another process's streams, or to none.
    pub foreign: Vec<PathBuf>,
    /// One of them: an endpoint of a transport that the victim uses, whose streams send to each other.
    pub endpoint: PathBuf,
}

/// What is wrong with a call.
type Verdict = Result<(), String>;

impl Expected {
    /// What a call would do, if it is not expected.
    ///
    /// # Errors
    /// The reason, with the arguments.
    pub fn check(&self, asked: &Asked) -> Verdict {
        let [first, second, third, fourth, fifth, _] = asked.arguments;
        match asked.number {
            libc::SYS_kill => self.kill(first as i32, second as i32),
            libc::SYS_tkill => is(first as u32 == asked.thread, || format!("signal {second} to thread {first}")),
            libc::SYS_tgkill => is(first as u32 == self.victim, || format!("signal {third} to process {first}")),
            libc::SYS_pidfd_send_signal => self.signal(first, second as i32),
            libc::SYS_openat => self.open(first, second, third),
            libc::SYS_unlinkat | libc::SYS_mkdirat | libc::SYS_mknodat | libc::SYS_fchmodat => {
                self.change(first, second)
            }
            libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => {
                self.change(first, second).and_then(|()| self.change(third, fourth))
            }
            libc::SYS_fchmod | libc::SYS_flock => self.change_file(first),
            libc::SYS_ftruncate => self.resize(first, second),
            libc::SYS_fallocate => self.resize(first, third.saturating_add(fourth)),
            libc::SYS_mmap | libc::SYS_mremap => {
                let len = if asked.number == libc::SYS_mmap { second } else { third };
                is(len <= LEN_MAX, || format!("a mapping of {len} bytes"))
            }
            libc::SYS_socket => {
                let family = first as i32;
                let known = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].contains(&family);
                is(known, || format!("a socket of family {family}"))
            }
            libc::SYS_connect | libc::SYS_bind => self.address(second, third, asked.number == libc::SYS_bind),
            libc::SYS_sendto => self.address(fifth, asked.arguments[5], false),
            libc::SYS_sendmsg => self.message(second),
            libc::SYS_sendmmsg => (0..third.min(64)).try_for_each(|at| self.message(second + 64 * at)),
            libc::SYS_ioctl => is([libc::FIONREAD, libc::FIONBIO, libc::TIOCOUTQ].contains(&second), || {
                format!("request {second:#x} of {}", self.link(first).display())
            }),
            libc::SYS_fcntl => self.fcntl(first, second as i32),
            libc::SYS_prlimit64 => is(third == 0, || format!("the limits of process {first}")),
            libc::SYS_prctl => self.prctl(first),
            libc::SYS_faccessat | libc::SYS_faccessat2 => self.may_look(&self.path(first, second)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_access => self.may_look(&self.path(libc::AT_FDCWD as u64, first)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => self.open(libc::AT_FDCWD as u64, first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink | libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_chmod => {
                self.change(libc::AT_FDCWD as u64, first)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => [first, second].into_iter().try_for_each(|at| self.change(libc::AT_FDCWD as u64, at)),
            _ => Err("it is none of the library's calls".into()),
        }
    }

    /// To itself, to its own group, which it registers, or to none.
    fn kill(&self, pid: i32, signal: i32) -> Verdict {
        let own = self.victim as i32;
        is(signal == 0 || [own, -own].contains(&pid), || format!("signal {signal} to {pid}"))
    }

    fn signal(&self, pidfd: u64, signal: i32) -> Verdict {
        let text = std::fs::read_to_string(self.proc(&format!("fdinfo/{pidfd}"))).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pid:"));
        let Some(target) = line.and_then(|pid| pid.trim().parse::<i64>().ok()) else {
            return Err(format!("signal {signal} by descriptor {pidfd}, which is no pidfd"));
        };
        let is_member = target <= 0 || target as u32 == self.victim || self.members.contains(&(target as u32));
        is(is_member && [libc::SIGPOLL, libc::SIGURG].contains(&signal), || format!("signal {signal} to {target}"))
    }

    fn open(&self, directory: u64, path: u64, flags: u64) -> Verdict {
        let path = self.path(directory, path);
        let writes = flags as i32 & (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) != 0;
        let only_looks = flags as i32 & libc::O_PATH != 0;
        if writes && !only_looks && !self.is_own_proc(&path) { self.may_change(&path) } else { self.may_look(&path) }
    }

    fn change(&self, directory: u64, path: u64) -> Verdict {
        let path = self.path(directory, path);
        let number = path.strip_prefix(self.proc("fd")).ok().and_then(|rest| rest.to_str());
        match number.and_then(|number| number.parse().ok()) {
            Some(number) => self.change_file(number),
            None => self.may_change(&path),
        }
    }

    fn may_look(&self, path: &Path) -> Verdict {
        let places =
            [Path::new("/proc"), Path::new("/sys/devices/system/cpu"), Path::new("/dev/null"), &self.directory];
        let is_known = places.iter().any(|place| path.starts_with(place)) || self.directory.starts_with(path);
        // Where devices are found unless a program says otherwise.
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".headwater"));
        let tmp = std::env::temp_dir().join(format!("headwater-{}", headwater_os::files::own_user()));
        let is_known = is_known || has_no_name(path) || path == tmp || home.is_some_and(|home| path == home);
        is(is_known && !self.is_foreign(path), || format!("it looks at {}", path.display()))
    }

    /// A process lends the right to send over a transport with its endpoint (decision 0050).
    fn may_connect(&self, path: &Path) -> Verdict {
        if path == self.endpoint { Ok(()) } else { self.may_look(path) }
    }

    fn may_change(&self, path: &Path) -> Verdict {
        let is_device = path == Path::new("/dev/null");
        let is_own = path.starts_with(&self.directory) && !self.is_foreign(path);
        is(is_device || is_own, || format!("it changes {}", path.display()))
    }

    fn change_file(&self, descriptor: u64) -> Verdict {
        let path = self.link(descriptor);
        if has_no_name(&path) { Ok(()) } else { self.may_change(&path) }
    }

    fn resize(&self, descriptor: u64, len: u64) -> Verdict {
        is(len <= LEN_MAX, || format!("a file of {len} bytes")).and_then(|()| self.change_file(descriptor))
    }

    fn fcntl(&self, descriptor: u64, command: i32) -> Verdict {
        let locks = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW].contains(&command);
        is(locks, || format!("fcntl {command} of {}", self.link(descriptor).display()))
            .and_then(|()| self.change_file(descriptor))
    }

    /// Its own name, and whether it may be traced: no numbers of processes.
    fn prctl(&self, option: u64) -> Verdict {
        let known = [libc::PR_SET_NAME, libc::PR_GET_DUMPABLE, libc::PR_SET_VMA];
        is(known.contains(&(option as i32)), || format!("option {option}"))
    }

    /// Where a socket's address leads: a socket with a name of the streams', or this machine.
    fn address(&self, at: u64, len: u64, binds: bool) -> Verdict {
        if at == 0 {
            return Ok(());
        }
        let bytes = self.bytes(at, len.min(128) as usize);
        let Some((family, rest)) = bytes.split_first_chunk::<2>() else { return Ok(()) };
        let port = || u16::from_be_bytes([rest[0], rest[1]]);
        match i32::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNIX if rest.first().is_none_or(|byte| *byte == 0) => {
                let name = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
                is(name.is_empty() || name.starts_with("headwater"), || format!("the socket @{name}"))
            }
            libc::AF_UNIX => {
                let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
                let path = self.resolved(Path::new(OsStr::from_bytes(&rest[..end])));
                if binds { self.may_change(&path) } else { self.may_connect(&path) }
            }
            libc::AF_INET if rest.len() >= 6 => {
                let to = IpAddr::from([rest[2], rest[3], rest[4], rest[5]]);
                is(to.is_loopback() || to.is_unspecified(), || format!("the address {to}:{}", port()))
            }
            libc::AF_INET6 if rest.len() >= 22 => {
                let to = IpAddr::from(<[u8; 16]>::try_from(&rest[6..22]).expect("sixteen"));
                is(to.is_loopback() || to.is_unspecified(), || format!("the address [{to}]:{}", port()))
            }
            libc::AF_UNSPEC | libc::AF_NETLINK => Ok(()),
            family => Err(format!("an address of family {family}: {rest:?}")),
        }
    }

    /// The address of a message, and the files in it: none that is only the victim's.
    fn message(&self, at: u64) -> Verdict {
        let word = |at: u64| self.bytes(at, 8).try_into().map_or(0, u64::from_ne_bytes);
        let offset = |field: usize| at + field as u64;
        let [name, name_len, control, control_len] = [
            std::mem::offset_of!(libc::msghdr, msg_name),
            std::mem::offset_of!(libc::msghdr, msg_namelen),
            std::mem::offset_of!(libc::msghdr, msg_control),
            std::mem::offset_of!(libc::msghdr, msg_controllen),
        ]
        .map(|field| word(offset(field)));
        self.address(name, name_len & 0xffff_ffff, false)?;
        let control = self.bytes(control, control_len.min(4096) as usize);
        // A header of the length, the level and the type; then the descriptors.
        let Some((header, files)) = control.split_first_chunk::<16>() else { return Ok(()) };
        let kind = i32::from_ne_bytes([12, 13, 14, 15].map(|at| header[at]));
        if kind != libc::SCM_RIGHTS {
            return Ok(());
        }
        let len = u64::from_ne_bytes(std::array::from_fn(|at| header[at])) as usize;
        let files = &files[..len.saturating_sub(16).min(files.len())];
        files.as_chunks::<4>().0.iter().try_for_each(|number| {
            let path = self.link(u64::from(u32::from_ne_bytes(*number)));
            is(!self.is_foreign(&path), || format!("it sends {}", path.display()))
        })
    }

    fn is_own_proc(&self, path: &Path) -> bool {
        path.starts_with(format!("/proc/{}", self.victim))
    }

    fn is_foreign(&self, path: &Path) -> bool {
        self.foreign.iter().any(|foreign| path == foreign)
    }

    fn proc(&self, rest: &str) -> String {
        format!("/proc/{}/{rest}", self.victim)
    }

    /// Whether its descriptors are still to be seen: those of a process that ends are not, while its threads are.
    pub fn sees(&self) -> bool {
        std::fs::read_dir(self.proc("fd")).is_ok_and(|mut descriptors| descriptors.next().is_some())
    }

    fn link(&self, descriptor: u64) -> PathBuf {
        std::fs::read_link(self.proc(&format!("fd/{}", descriptor as u32))).unwrap_or_default()
    }

    /// A path of a call: whole, and without the ways over /proc.
    fn path(&self, directory: u64, at: u64) -> PathBuf {
        let text = self.bytes(at, 4096);
        let text = CStr::from_bytes_until_nul(&text).map_or(&text[..], CStr::to_bytes);
        let text = Path::new(OsStr::from_bytes(text));
        if text.is_absolute() {
            return self.resolved(text);
        }
        let directory = if directory as i32 == libc::AT_FDCWD {
            std::fs::read_link(self.proc("cwd")).unwrap_or_default()
        } else {
            self.link(directory)
        };
        if text.as_os_str().is_empty() { directory } else { self.resolved(&directory.join(text)) }
    }

    /// `/proc/self/fd/N/...` is where the descriptor leads.
    fn resolved(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => _ = plain.pop(),
                Component::CurDir => {}
                part => plain.push(part),
            }
            if plain == Path::new("/proc/self") || plain == Path::new("/proc/thread-self") {
                plain = PathBuf::from(self.proc(""));
            }
            let number = plain.strip_prefix(self.proc("fd")).ok().and_then(|rest| rest.to_str());
            if let Some(number) = number.and_then(|number| number.parse().ok())
                && path.components().count() > 5
            {
                plain = self.link(number);
            }
        }
        plain
    }

    fn bytes(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut filled = 0;
        // A string may end just before a page that is not there.
        while filled < len {
            let step = (4096 - (at as usize + filled) % 4096).min(len - filled);
            if self.memory.read_exact_at(&mut bytes[filled..filled + step], at + filled as u64).is_err() {
                break;
            }
            filled += step;
        }
        bytes.truncate(filled);
        bytes
    }
}

/// Whether it is the memory of a stream, or a pipe.
fn has_no_name(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.starts_with("/memfd:headwater") || text.starts_with("pipe:[")
}

fn is(expected: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if expected { Ok(()) } else { Err(otherwise()) }
}

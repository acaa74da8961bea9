//! Compares the table of docs/c-library.md, "Every call that takes a descriptor", with the kernel's header, the C
//! library's headers and symbols, and this library's symbols. No call that takes a descriptor may be missing. For
//! x86-64 and glibc.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

mod made;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// The system calls that take no descriptor, up to Linux 6.18.
const WITHOUT_DESCRIPTOR: &str = "
    stat lstat mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn access sched_yield mremap msync mincore madvise shmget
    shmat shmctl pause nanosleep getitimer alarm setitimer getpid clone fork vfork exit wait4 kill uname semget semop semctl shmdt
    msgget msgsnd msgrcv msgctl truncate getcwd chdir rename mkdir rmdir link unlink symlink readlink chmod chown lchown umask
    gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp
    setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget
    capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib personality ustat statfs sysfs
    getpriority setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
    sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl arch_prctl
    adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname iopl ioperm
    create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall
    security gettid setxattr lsetxattr getxattr lgetxattr listxattr llistxattr removexattr lremovexattr tkill time futex
    sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_cancel get_thread_area lookup_dcookie
    remap_file_pages set_tid_address restart_syscall semtimedop timer_create timer_settime timer_gettime timer_getoverrun timer_delete
    clock_settime clock_gettime clock_getres clock_nanosleep exit_group tgkill utimes vserver mbind set_mempolicy get_mempolicy
    mq_unlink kexec_load add_key request_key keyctl ioprio_set ioprio_get migrate_pages unshare set_robust_list get_robust_list
    move_pages rt_tgsigqueueinfo prlimit64 clock_adjtime getcpu process_vm_readv process_vm_writev sched_setattr sched_getattr
    seccomp getrandom membarrier mlock2 pkey_mprotect pkey_alloc pkey_free io_pgetevents rseq uretprobe uprobe futex_waitv
    set_mempolicy_home_node map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr
    lsm_set_self_attr lsm_list_modules mseal
";

/// The C library's headers that declare functions with descriptors.
const HEADERS: &str = "
    aio.h arpa/inet.h dirent.h err.h fcntl.h ftw.h fts.h glob.h grp.h ifaddrs.h mqueue.h netdb.h netinet/in.h poll.h pty.h sched.h
    signal.h spawn.h stdio.h stdio_ext.h stdlib.h sys/epoll.h sys/eventfd.h sys/fanotify.h sys/file.h sys/inotify.h sys/ioctl.h
    sys/mman.h sys/mount.h sys/pidfd.h sys/poll.h sys/quota.h sys/select.h sys/sendfile.h sys/signalfd.h sys/socket.h sys/stat.h
    sys/statfs.h sys/statvfs.h sys/syscall.h sys/time.h sys/timerfd.h sys/uio.h sys/wait.h sys/xattr.h termios.h unistd.h utmp.h
    wchar.h
";

/// The library that handles a call on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The library handles the call, as a pipe of the kernel would or with an error.
    Library,
    Kernel,
}

#[derive(Debug, Default)]
struct Table {
    system_calls: BTreeMap<String, Verdict>,
    functions: BTreeMap<String, Verdict>,
}

/// Returns the names in backquotes.
fn names(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn table() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/c-library.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let mut table = Table::default();
    let rows = text.lines().skip_while(|line| !line.starts_with("| system calls |")).skip(2);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [calls, verdict, functions] = cells[..] else { panic!("three columns: {row}") };
        let verdict = match verdict.trim() {
            text if text.starts_with("**kernel**") => Verdict::Kernel,
            text if text.starts_with("**works**") || text.starts_with("**fails**") => Verdict::Library,
            text => panic!("no verdict: {text}"),
        };
        for name in names(calls) {
            assert_eq!(table.system_calls.insert(name.clone(), verdict), None, "{name} is in two rows");
        }
        for name in names(functions) {
            assert_eq!(table.functions.insert(name.clone(), verdict), None, "{name} is in two rows");
        }
    }
    assert!(table.system_calls.len() > 100 && table.functions.len() > 100, "{table:?}");
    table
}

/// Returns a text as the compiler's preprocessor writes it.
fn preprocessed(text: &str, options: &[&str]) -> String {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-P", "-x", "c"]).args(options).arg("-");
    let mut child = compiler.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cc");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), text.as_bytes()).expect("cc reads");
    let output = child.wait_with_output().expect("cc");
    assert!(output.status.success(), "cc -E");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the functions that a shared library exports for programs, without those that the C library has for itself.
fn exported(library: &Path) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--with-symbol-versions"]).arg(library).output().expect("nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let function = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, name) = (words.next()?, words.next()?);
        let is_public = matches!(kind, "T" | "W" | "i") && !name.contains("GLIBC_PRIVATE");
        is_public.then(|| name.split('@').next().unwrap_or(name).to_owned())
    };
    text.lines().filter_map(function).collect()
}

/// Returns the exports of the C library that programs on this machine use.
fn c_library() -> BTreeSet<String> {
    let output = Command::new("cc").arg("-print-file-name=libc.so.6").output().expect("cc");
    exported(Path::new(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Returns the functions that headers declare with a parameter that is a descriptor, by its name or type.
fn declared_with_descriptor() -> BTreeSet<String> {
    let includes: String = HEADERS.split_whitespace().map(|header| format!("#include <{header}>\n")).collect();
    let text = preprocessed(&format!("#define _GNU_SOURCE\n{includes}"), &["-O2", "-D_FORTIFY_SOURCE=2"]);
    let is_descriptor = |parameter: &str| {
        let words: Vec<&str> = parameter.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        let is_named = words.iter().any(|word| {
            let word = word.trim_matches('_');
            ["fd", "fds", "fd1", "fd2", "fildes", "fdin", "fdout", "fp"].iter().any(|end| word.ends_with(end))
        });
        words.contains(&"mqd_t")
            || words.contains(&"fd_set")
            || words.contains(&"int") && is_named
            || words.contains(&"pollfd")
    };
    let mut functions = BTreeSet::new();
    for declaration in text.split([';', '{', '}']) {
        let Some((before, rest)) = declaration.split_once('(') else { continue };
        let Some(name) = before.split_whitespace().last() else { continue };
        let parameters = rest.split(") __attribute__").next().unwrap_or(rest);
        if parameters.split(',').any(is_descriptor) {
            functions.insert(name.trim_start_matches('*').to_owned());
        }
    }
    functions
}

/// Returns the name that all variants of a function share.
fn base(name: &str) -> &str {
    let mut name = name.trim_start_matches('_');
    name = name.strip_prefix("libc_").unwrap_or(name);
    for end in ["_chk", "_2", "64v2", "_time64", "_nocancel", "64"] {
        name = name.strip_suffix(end).unwrap_or(name);
    }
    name
}

#[test]
fn every_system_call_is_in_the_table_or_takes_no_descriptor() {
    let text = preprocessed("#include <asm/unistd_64.h>", &["-dM"]);
    let header: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define __NR_")?.split_once(' '))
        .map(|(name, _)| name)
        .collect();
    assert!(header.len() > 300, "{header:?}");
    let table = table();
    let without: BTreeSet<&str> = WITHOUT_DESCRIPTOR.split_whitespace().collect();
    let missing: Vec<_> =
        header.iter().filter(|name| !table.system_calls.contains_key(**name) && !without.contains(*name)).collect();
    assert!(missing.is_empty(), "what do these do at a stream? {missing:?}");
    let both: Vec<_> = without.iter().filter(|name| table.system_calls.contains_key(**name)).collect();
    assert!(both.is_empty(), "{both:?}");
}

#[test]
fn syscall_handles_every_system_call_that_the_library_handles() {
    let source = include_str!("../src/calls/syscall.rs");
    let routed: BTreeSet<String> = source
        .split("SYS_")
        .skip(1)
        .map(|rest| {
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("").to_lowercase()
        })
        .collect();
    let answered = table().system_calls.into_iter().filter(|(_, verdict)| *verdict == Verdict::Library);
    let missing: Vec<_> = answered.map(|(name, _)| name).filter(|name| !routed.contains(name)).collect();
    assert!(missing.is_empty(), "syscall(2) passes these on to the kernel: {missing:?}");
}

#[test]
fn every_function_of_the_c_library_that_takes_a_descriptor_is_in_the_table() {
    let (table, exported) = (table(), c_library());
    let declared: BTreeSet<String> = declared_with_descriptor().intersection(&exported).cloned().collect();
    assert!(declared.len() > 150, "{declared:?}");
    let missing: Vec<_> = declared.iter().filter(|name| !table.functions.contains_key(*name)).collect();
    assert!(missing.is_empty(), "what do these do at a stream? {missing:?}");
    // Functions that are the same under other names, and that no header declares.
    let bases: BTreeSet<&str> = table.functions.keys().map(|name| base(name)).collect();
    let others: Vec<_> =
        exported.iter().filter(|name| bases.contains(base(name)) && !table.functions.contains_key(*name)).collect();
    assert!(others.is_empty(), "other names of functions in the table: {others:?}");
}

#[test]
fn library_exports_every_function_that_it_handles() {
    let ours = exported(&made::make(&["all"]).join("libheadwater.so"));
    // The library reads file actions only when the program is started, so it needs no functions for them.
    let is_read = |name: &String| name.starts_with("posix_spawn_file_actions_");
    let answered = table().functions.into_iter().filter(|(_, verdict)| *verdict == Verdict::Library);
    let missing: Vec<_> =
        answered.map(|(name, _)| name).filter(|name| !is_read(name) && !ours.contains(name)).collect();
    assert!(missing.is_empty(), "the C library answers these: {missing:?}");
    for name in ["syscall", "socket", "socketpair", "pipe", "__pipe", "pipe2", "vfork"] {
        assert!(ours.contains(name), "{name}");
    }
}

/* Every class of calls that take a descriptor, on a stream and beside it on a pipe of the kernel. Both must give the same value,
 * errno and effect. Where they differ, docs/c-library.md says so, and the test says what a stream does. */
#include "raw.h"
#include "stream.h"
#include <aio.h>
#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>

/* The reading and the writing end. */
static int kernel[2], stream[2];
static char bytes[64];
/* The value is hidden from the compiler, which would warn. */
static const char *volatile no_path;

static void open_all(void) {
    open_kernel_pipe(kernel);
    open_pipe(stream);
}

/* Makes a call on the ends `r` and `w` of both pipes. Returns its result on the stream. */
#define SAME(call) \
    ({ \
        long long seen_[2]; \
        int errors_[2]; \
        for (int at_ = 0; at_ < 2; at_++) { \
            MAY_BE_UNUSED int r = (at_ ? stream : kernel)[0], w = (at_ ? stream : kernel)[1]; \
            errno = 0; \
            seen_[at_] = (long long)(call); \
            errors_[at_] = errno; \
        } \
        counted(); \
        if (seen_[0] != seen_[1] || (seen_[0] == -1 && errors_[0] != errors_[1])) \
            failed(__FILE__, __LINE__, "as a pipe of the kernel", "%s: the kernel %lld %s, the stream %lld %s", #call, seen_[0], \
                   error_name(seen_[0], errors_[0]), seen_[1], error_name(seen_[1], errors_[1])); \
        seen_[1]; \
    })

/* Makes a call by the C library's function, and by its number. */
static void calls_with_a_position(void) {
    struct iovec out = {"abc", 3}, in = {bytes, sizeof bytes};
    open_all();
    SAME(pwritev2(w, &out, 1, -1, 0));
    EXPECT(SAME(preadv2(r, &in, 1, -1, 0)), 3, "readv(2): the position -1 is none");
    BYTES(bytes, 3, "abc", "pwritev2: the bytes are those of the stream");
    for (int flag = 1; flag <= 0x20; flag <<= 1) {
        in_context("flag %#x", flag);
        SAME(pwritev2(w, &out, 1, -1, flag));
        SAME(preadv2(r, &in, 1, -1, flag));
        SAME(syscall(SYS_pwritev2, w, &out, 1, -1L, -1L, flag));
        SAME(syscall(SYS_preadv2, r, &in, 1, -1L, -1L, flag));
    }
    in_context("%s", "");
    EXPECT(SAME(preadv2(r, &in, 1, -1, RWF_NOWAIT)), -1, "RWF_NOWAIT: EAGAIN of an empty stream that is not O_NONBLOCK");
    SAME(pwritev2(w, &out, 1, -1, 0x4000));
    SAME(preadv2(r, &in, 1, -1, 0x4000));
    FAILS(preadv2(stream[0], &in, 1, -1, 0x100), EOPNOTSUPP, "a stream does not know RWF_NOSIGNAL");
    SAME(pwritev2(w, &out, 1, 0, 0));
    SAME(preadv2(r, &in, 1, 0, 0));
    SAME(preadv2(r, &in, 1, -2, 0));
    SAME(pread(r, bytes, 1, 0));
    SAME(pread(r, bytes, 1, -1));
    SAME(pwrite(w, "x", 1, 0));
    SAME(pwrite(w, "x", 1, -1));
    SAME(preadv(r, &in, 1, 0));
    SAME(preadv(r, &in, 1, -1));
    SAME(pwritev(w, &out, 1, 0));
    SAME(pwritev(w, &out, 1, -1));
    SAME(syscall(SYS_pread64, r, bytes, 1L, 0L));
    SAME(syscall(SYS_pwrite64, w, "x", 1L, 0L));
    SAME(syscall(SYS_preadv, r, &in, 1L, 0L, 0L));
    SAME(syscall(SYS_pwritev, w, &out, 1L, 0L, 0L));
    set_nonblocking(stream[0], 1);
    FAILS(read(stream[0], bytes, 1), EAGAIN, "no call with a position has left a byte");
    for (int full = 0; full < 2000 && pwritev2(stream[1], &(struct iovec){bytes, sizeof bytes}, 1, -1, RWF_NOWAIT) > 0; full++)
        ;
    FAILS(pwritev2(stream[1], &out, 1, -1, RWF_NOWAIT), EAGAIN, "RWF_NOWAIT: EAGAIN of a full stream");
}

static void calls_for_files(void) {
    struct iovec piece = {"abc", 3};
    open_all();
    SAME(lseek(r, 0, SEEK_CUR));
    SAME(fsync(r));
    SAME(fdatasync(w));
    SAME(sync_file_range(r, 0, 0, 0));
    SAME(fallocate(w, 0, 0, 1));
    SAME(fallocate(w, 0, -1, 1));
    SAME(fallocate(w, 0, 0, 0));
    SAME(syscall(SYS_fallocate, w, 0L, 0L, 1L));
    SAME(posix_fallocate(w, 0, 1));
    SAME(posix_fadvise(r, 0, 0, POSIX_FADV_DONTNEED));
    SAME(posix_fadvise(r, 0, 0, 99));
    SAME(syscall(SYS_fadvise64, r, 0L, 0L, 0L));
    SAME(readahead(r, 0, 1));
    SAME(ftruncate(w, 0));
    SAME(syscall(SYS_ftruncate, w, 0L));
    SAME(fchdir(r));
    SAME(syscall(SYS_getdents64, r, bytes, 16L));
    SAME((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, r, 0));
    SAME(syncfs(r));
    SAME(fpathconf(r, _PC_PIPE_BUF));
    SAME(faccessat(r, "name", R_OK, 0));
    SAME(openat(r, "name", O_RDONLY));
    SAME(linkat(r, "", AT_FDCWD, "/tmp/conformance-link", AT_EMPTY_PATH));
    SAME(syscall(SYS_execveat, r, "", NULL, NULL, AT_EMPTY_PATH));
    SAME(syscall(SYS_kcmp, getpid(), getpid(), 0, r, r));
    int null = open("/dev/null", O_RDWR);
    /* The kernel's pipe does these calls; a stream refuses all of them. */
    FAILS(sendfile(stream[1], null, NULL, 1), EINVAL, "sendfile");
    FAILS(splice(stream[0], NULL, kernel[1], NULL, 1, SPLICE_F_NONBLOCK), EINVAL, "splice");
    FAILS(tee(stream[0], kernel[1], 1, SPLICE_F_NONBLOCK), EINVAL, "tee");
    FAILS(vmsplice(stream[1], &piece, 1, 0), EINVAL, "vmsplice");
    FAILS(copy_file_range(stream[0], NULL, null, NULL, 1, 0), EINVAL, "copy_file_range");
    FAILS(syscall(SYS_splice, stream[0], NULL, kernel[1], NULL, 1L, (long)SPLICE_F_NONBLOCK), EINVAL, "splice by number");
    FAILS(syscall(SYS_vmsplice, stream[1], &piece, 1L, 0L), EINVAL, "vmsplice by number");
    set_nonblocking(stream[0], 1);
    FAILS(read(stream[0], bytes, 1), EAGAIN, "none of them has left a byte");
}

extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
extern int isfdtype(int, int);

static void calls_for_sockets(void) {
    struct sockaddr name = {.sa_family = AF_UNIX};
    socklen_t len = sizeof name;
    struct mmsghdr messages[1] = {{{0}, 0}};
    struct msghdr message = {0};
    int value = 0;
    open_all();
    SAME(send(w, "x", 1, 0));
    SAME(sendto(w, "x", 1, 0, NULL, 0));
    SAME(sendmsg(w, &message, 0));
    SAME(sendmmsg(w, messages, 1, 0));
    SAME(recv(r, bytes, 1, MSG_DONTWAIT));
    SAME(recvfrom(r, bytes, 1, MSG_DONTWAIT, NULL, NULL));
    SAME(recvmsg(r, &message, MSG_DONTWAIT));
    SAME(recvmmsg(r, messages, 1, MSG_DONTWAIT, NULL));
    SAME(__recv_chk(r, bytes, 1, sizeof bytes, MSG_DONTWAIT));
    SAME(__recvfrom_chk(r, bytes, 1, sizeof bytes, MSG_DONTWAIT, NULL, NULL));
    SAME(bind(r, &name, sizeof name));
    SAME(connect(w, &name, sizeof name));
    SAME(listen(r, 1));
    SAME(accept(r, NULL, NULL));
    SAME(accept4(r, NULL, NULL, 0));
    SAME(shutdown(w, SHUT_WR));
    SAME(getsockname(r, &name, &len));
    SAME(getpeername(r, &name, &len));
    SAME(getsockopt(r, SOL_SOCKET, SO_TYPE, &value, &len));
    SAME(setsockopt(r, SOL_SOCKET, SO_RCVBUF, &value, sizeof value));
    SAME(sockatmark(r));
    SAME(isfdtype(r, S_IFIFO));
    SAME(isfdtype(r, S_IFSOCK));
    SAME(syscall(SYS_sendto, w, "x", 1L, 0L, NULL, 0L));
    SAME(syscall(SYS_recvfrom, r, bytes, 1L, (long)MSG_DONTWAIT, NULL, NULL));
    SAME(syscall(SYS_sendmsg, w, &message, 0L));
    SAME(syscall(SYS_shutdown, w, (long)SHUT_RDWR));
    SAME(syscall(SYS_accept4, r, NULL, NULL, 0L));
    SAME(syscall(SYS_bind, r, &name, (long)sizeof name));
    EXPECT(write(stream[1], "still", 5), 5, "none of them has touched the stream");
    EXPECT(read(stream[0], bytes, 9), 5, "none of them has touched the stream");
}

static void calls_for_other_descriptors(void) {
    struct epoll_event event = {.events = EPOLLIN};
    struct itimerspec timer;
    sigset_t set;
    sigemptyset(&set);
    open_all();
    SAME(epoll_ctl(r, EPOLL_CTL_ADD, kernel[0], &event));
    SAME(syscall(SYS_epoll_wait, r, &event, 1, 0));
    SAME(syscall(SYS_inotify_add_watch, r, "/", 1));
    SAME(syscall(SYS_signalfd4, r, &set, 8L, 0L));
    SAME(syscall(SYS_timerfd_gettime, r, &timer));
    SAME(syscall(SYS_mq_timedsend, r, bytes, 1L, 0L, NULL));
    SAME(syscall(SYS_setns, r, 0L));
    SAME(syscall(SYS_pidfd_send_signal, r, 0L, NULL, 0L));
    SAME(syscall(SYS_io_uring_enter, r, 1L, 0L, 0L, NULL, 0L));
}

/* Requests of the kernel's asynchronous I/O, by system call numbers. */
static void asynchronous_requests(void) {
    struct aiocb block = {.aio_buf = bytes, .aio_nbytes = 1}, *blocks[] = {&block};
    struct iocb entry = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)bytes, .aio_nbytes = 1}, *entries[] = {&entry};
    aio_context_t queue = 0;
    open_all();
    block.aio_fildes = stream[1];
    FAILS(aio_write(&block), ENOTSUP, "aio_write");
    FAILS(lio_listio(LIO_WAIT, blocks, 1, NULL), ENOTSUP, "lio_listio");
    FAILS(aio_fsync(O_SYNC, &block), ENOTSUP, "aio_fsync");
    block.aio_fildes = stream[0];
    FAILS(aio_read(&block), ENOTSUP, "aio_read");
    if (syscall(SYS_io_setup, 1L, &queue) == 0) {
        entry.aio_fildes = (uint32_t)stream[1];
        FAILS(syscall(SYS_io_submit, queue, 1L, entries), EINVAL, "io_submit by number");
        syscall(SYS_io_destroy, queue);
    }
    set_nonblocking(stream[0], 1);
    FAILS(read(stream[0], bytes, 1), EAGAIN, "nothing was written");
}

static void commands_of_fcntl(void) {
    struct flock lock = {.l_type = F_RDLCK};
    unsigned long hint = 0;
    open_all();
    SAME(fcntl(r, F_GETPIPE_SZ));
    SAME(fcntl(w, F_SETPIPE_SZ, 20000));
    SAME(fcntl(r, F_GETPIPE_SZ));
    SAME(fcntl(w, F_GETPIPE_SZ));
    SAME(fcntl(w, F_SETPIPE_SZ, 0));
    SAME(fcntl(w, F_SETPIPE_SZ, -1));
    SAME(syscall(SYS_fcntl, w, (long)F_SETPIPE_SZ, 8192L));
    FAILS(fcntl(stream[1], F_SETPIPE_SZ, 1 << 30), EPERM, "F_SETPIPE_SZ: more than a stream's memory has room for");
    SAME(fcntl(r, F_GETLEASE));
    SAME(fcntl(r, F_SETLEASE, F_RDLCK));
    SAME(fcntl(r, F_NOTIFY, 1));
    SAME(fcntl(r, F_GET_SEALS));
    SAME(fcntl(r, F_GET_RW_HINT, &hint));
    SAME(fcntl(r, F_GETOWN));
    SAME(fcntl(r, F_GETSIG));
    SAME(fcntl(r, 999));
    SAME(fcntl(r, F_SETFL, O_APPEND));
    SAME(fcntl(r, F_GETFL) & ~O_ACCMODE);
    SAME(fcntl(r, F_SETFL, O_NOATIME));
    SAME(fcntl(r, F_GETFL) & ~O_ACCMODE);
    SAME(fcntl(r, F_SETFL, O_NONBLOCK));
    SAME(fcntl(r, F_GETFL) & ~O_ACCMODE);
    SAME(fcntl(r, F_SETFD, FD_CLOEXEC));
    SAME(fcntl(r, F_GETFD));
    SAME(syscall(SYS_fcntl, r, (long)F_GETFD));
    FAILS(fcntl(stream[0], F_SETFL, O_DIRECT), EINVAL, "a stream has no packets of the kernel's kind");
    FAILS(fcntl(stream[0], F_SETLK, &lock), EINVAL, "POSIX F_SETLK: EINVAL of a file without locks");
    FAILS(fcntl(stream[0], F_GETLK, &lock), EINVAL, "POSIX F_GETLK: EINVAL of a file without locks");
    FAILS(fcntl(stream[0], F_OFD_SETLK, &lock), EINVAL, "F_OFD_SETLK as F_SETLK");
    FAILS(fcntl(stream[0], F_OFD_GETLK, &lock), EINVAL, "F_OFD_GETLK as F_GETLK");
    FAILS(lockf(stream[1], F_TLOCK, 0), EINVAL, "POSIX lockf: EINVAL of a file without locks");
    int device = open_device("echo"), file = open("/dev/null", O_RDWR);
    FAILS(fcntl(device, F_GETPIPE_SZ), EBADF, "F_GETPIPE_SZ of a device");
    FAILS(fcntl(device, F_SETPIPE_SZ, 4096), EBADF, "F_SETPIPE_SZ of a device");
    FAILS(fcntl(file, F_GETPIPE_SZ), EBADF, "F_GETPIPE_SZ of a file");
}

/* A size means that so many bytes fit. */
static void the_size_of_a_pipe(void) {
    static char block[4096];
    open_all();
    SAME(fcntl(w, F_SETPIPE_SZ, 4 * sizeof block));
    set_nonblocking(stream[1], 1);
    int blocks = 0;
    while (blocks < 100 && write(stream[1], block, sizeof block) == sizeof block)
        blocks++;
    HOLDS(blocks == 4 || blocks == 5, "F_SETPIPE_SZ: a stream takes one message more than its high-water mark");
    EXPECT(fcntl(stream[1], F_SETPIPE_SZ, 16 * sizeof block), 16 * sizeof block, "F_SETPIPE_SZ: a larger size");
    EXPECT(write(stream[1], block, sizeof block), sizeof block, "F_SETPIPE_SZ: a larger size has room at once");
    set_nonblocking(stream[0], 1);
    while (write(stream[0], block, sizeof block) == sizeof block)
        blocks++;
    HOLDS(blocks >= 20, "F_SETPIPE_SZ: both directions");
}

static volatile sig_atomic_t signalled;

static void note_signal(int number) { signalled = number; }

/* Returns 1 if SIGIO comes, else 0. */
static int told(void) {
    for (int round = 0; round < 500 && !signalled; round++)
        sleep_ms(2);
    return signalled == SIGIO;
}

static void signals_of_o_async(void) {
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = getpid()};
    int on = 1;
    signal(SIGIO, note_signal);
    open_all();
    EXPECT(SAME(fcntl(r, F_SETOWN, getpid())), 0, "F_SETOWN");
    EXPECT(SAME(fcntl(r, F_GETOWN)), getpid(), "F_GETOWN");
    SAME(fcntl(r, F_SETFL, O_ASYNC));
    SAME(fcntl(r, F_GETFL) & ~O_ACCMODE);
    for (int at = 0; at < 2; at++) {
        in_context("%s", at ? "the stream" : "the kernel's pipe");
        int *ends = at ? stream : kernel;
        signalled = 0;
        EXPECT(write(ends[1], "x", 1), 1, "write");
        EXPECT(told(), 1, "O_ASYNC: SIGIO when data comes");
        EXPECT(read(ends[0], bytes, 9), 1, "read");
        /* A call of the reader itself may make room, which is reported as well. */
        sleep_ms(20);
        EXPECT(fcntl(ends[0], F_SETFL, 0), 0, "F_SETFL without O_ASYNC");
        signalled = 0;
        EXPECT(write(ends[1], "x", 1), 1, "write");
        sleep_ms(50);
        EXPECT(signalled, 0, "without O_ASYNC no signal comes");
        EXPECT(read(ends[0], bytes, 9), 1, "read");
        EXPECT(ioctl(ends[0], FIOASYNC, &on), 0, "FIOASYNC");
        EXPECT(fcntl(ends[0], F_GETFL) & O_ASYNC, O_ASYNC, "FIOASYNC is O_ASYNC");
        signalled = 0;
        EXPECT(write(ends[1], "x", 1), 1, "write");
        EXPECT(told(), 1, "FIOASYNC: SIGIO when data comes");
        signalled = 0;
        EXPECT(close(ends[1]), 0, "close");
        EXPECT(told(), 1, "O_ASYNC: SIGIO when the other end is closed");
    }
    in_context("%s", "");
    open_all();
    /* Here the owner is set after the flag. */
    SAME(fcntl(r, F_SETFL, O_ASYNC));
    signalled = 0;
    EXPECT(write(stream[1], "x", 1), 1, "write");
    sleep_ms(20);
    EXPECT(signalled, 0, "O_ASYNC: no owner, no signal");
    EXPECT(fcntl(stream[0], F_SETOWN, getpid()), 0, "F_SETOWN");
    EXPECT(write(stream[1], "x", 1), 1, "write");
    EXPECT(told(), 1, "F_SETOWN after O_ASYNC");
    FAILS(fcntl(stream[0], 10 /* F_SETSIG */, SIGUSR1), EINVAL, "a stream sends SIGIO and no other signal");
    EXPECT(fcntl(stream[0], 10 /* F_SETSIG */, 0), 0, "F_SETSIG 0 is SIGIO");
    FAILS(fcntl(stream[0], F_SETOWN_EX, &owner), EINVAL, "a stream sends no signals to a thread");
    SAME(fcntl(w, F_SETOWN, 1 << 28));
}

static void metadata(void) {
    struct stat status;
    struct statfs system;
    struct statvfs system_v;
    struct timespec times[2] = {{1, 0}, {2, 0}};
    open_all();
    SAME((fstat(r, &status), status.st_mode));
    SAME(fchmod(r, 0640));
    SAME((fstat(r, &status), status.st_mode));
    SAME(syscall(SYS_fchmod, r, 0604L));
    SAME((fstat(r, &status), status.st_mode));
    SAME(fchown(r, getuid(), getgid()));
    SAME((fstat(r, &status), status.st_uid));
    SAME(futimens(r, times));
    SAME((fstat(r, &status), status.st_mtime));
    SAME(utimensat(r, no_path, NULL, 0));
    SAME((fstat(r, &status), status.st_mtime > 2));
    SAME(fstatfs(r, &system));
    SAME((fstatfs(r, &system), system.f_type));
    SAME((syscall(SYS_fstatfs, r, &system), system.f_type));
    SAME(fstatvfs(r, &system_v));
    SAME(fgetxattr(r, "user.a", bytes, 9));
    SAME(fsetxattr(r, "user.a", "x", 1, 0));
    SAME(fremovexattr(r, "user.a"));
    SAME(flistxattr(r, bytes, 0));
    SAME(flistxattr(r, bytes, sizeof bytes));
    SAME(fgetxattr(r, "system.a", bytes, 9));
    SAME(flock(r, LOCK_EX | LOCK_NB));
    SAME(flock(r, LOCK_UN));
}

/* Calls by names of glibc's own, and calls of fortified programs. */
extern ssize_t __read(int, void *, size_t), __write(int, const void *, size_t), __send(int, const void *, size_t, int);
extern ssize_t __read_chk(int, void *, size_t, size_t), __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64(int, void *, size_t, off_t), __pwrite64(int, const void *, size_t, off_t);
extern int __close(int), __dup2(int, int), __fcntl(int, int, ...), __poll(struct pollfd *, nfds_t, int);
extern int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *), __connect(int, const struct sockaddr *, socklen_t);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t), __dprintf_chk(int, int, const char *, ...);

static fd_set set_of(int fd) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return set;
}

static void other_names(void) {
    struct pollfd polled = {.events = POLLIN};
    struct timeval now = {0, 0};
    fd_set set;
    open_all();
    SAME(__write(w, "abc", 3));
    SAME(__read(r, bytes, 9));
    SAME(__write(w, "abc", 3));
    SAME((polled.fd = r, __poll(&polled, 1, 0)));
    SAME((polled.fd = r, __poll_chk(&polled, 1, 0, sizeof polled)));
    SAME((set = set_of(r), __select(r + 1, &set, NULL, NULL, &now)));
    SAME(__read_chk(r, bytes, 9, sizeof bytes));
    SAME((polled.fd = r, __poll(&polled, 1, 0)));
    SAME(__pread_chk(r, bytes, 1, 0, sizeof bytes));
    SAME(__pread64(r, bytes, 1, 0));
    SAME(__pwrite64(w, "x", 1, 0));
    SAME(__send(w, "x", 1, 0));
    SAME(__connect(w, (const struct sockaddr *)bytes, 2));
    SAME(__fcntl(r, F_GETFL) & ~O_ACCMODE);
    SAME(__dup2(r, 90 + (r == stream[0])) > 0);
    SAME(eventfd_write(w, 7));
    SAME(read(r, bytes, 9));
    SAME(dprintf(w, "%s %.2f %d %g", "text", 1.25, 42, 0.5));
    SAME(read(r, bytes, sizeof bytes));
    BYTES(bytes, 16, "text 1.25 42 0.5", "dprintf: words and floating point go through");
    SAME(__dprintf_chk(w, 1, "%.3f|%d|%s|%d|%d|%d|%d", 2.5, 1, "x", 2, 3, 4, 5));
    SAME(read(r, bytes, sizeof bytes));
    BYTES(bytes, 17, "2.500|1|x|2|3|4|5", "__dprintf_chk: arguments on the stack too");
    EXPECT(__close(91), 0, "__close");
    EXPECT(__close(stream[0]), 0, "__close");
    on_signal(SIGPIPE, count_signal, 0);
    FAILS(write(stream[1], "x", 1), EPIPE, "__close and __dup2: the descriptor was the last");
}

static const struct test tests[] = {
    TEST(calls_with_a_position),
    TEST(calls_for_files),
    TEST(calls_for_sockets),
    TEST(calls_for_other_descriptors),
    TEST(asynchronous_requests),
    TEST(commands_of_fcntl),
    TEST(the_size_of_a_pipe),
    TEST(signals_of_o_async),
    TEST(metadata),
    TEST(other_names),
};
MAIN(tests)

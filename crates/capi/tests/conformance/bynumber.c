/* System calls by their numbers: by syscall(2), which the library interposes, and by an instruction of the program, which it
 * cannot see. */
#include "raw.h"
#include "stream.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

static char bytes[64];

/* What libuv does after it has started a program. */
static void a_close_by_number(void) {
    int ends[2];
    open_pipe(ends);
    if (fork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    EXPECT(syscall(SYS_close, ends[1]), 0, "close by number");
    EXPECT(read(ends[0], bytes, 4), 0, "the reader sees the end of the file");
    FAILS(syscall(SYS_close, ends[1]), EBADF, "close by number, again");
    FAILS(syscall(SYS_fcntl, ends[1], F_GETFD), EBADF, "the descriptor is closed");
    EXPECT(syscall(SYS_close_range, (long)ends[0], (long)ends[0], 0L), 0, "close_range by number");
    FAILS(fcntl(ends[0], F_GETFD), EBADF, "the descriptor is closed");
    HOLDS(syscall(SYS_close_range, 3L, ~0U, 0L) == 0, "close_range of all descriptors");
    open_pipe(ends);
    EXPECT(write(ends[1], "x", 1), 1, "the library's own descriptors are still there");
}

static void data_by_number(void) {
    struct iovec piece = {"de", 2};
    struct pollfd polled = {.fd = -1, .events = POLLIN};
    struct timespec time = {.tv_sec = 1}, short_time = {.tv_nsec = 20000000};
    struct timeval now = {0, 0};
    sigset_t mask;
    fd_set set;
    sigemptyset(&mask);
    open_ends();
    EXPECT(syscall(SYS_write, near, "abc", 3L), 3, "write by number");
    EXPECT(syscall(SYS_writev, near, &piece, 1), 2, "writev by number");
    polled.fd = far;
    EXPECT(syscall(SYS_poll, &polled, 1L, 0), 1, "poll by number");
    EXPECT(polled.revents, POLLIN, "poll by number");
    EXPECT(syscall(SYS_ppoll, &polled, 1L, &time, &mask, 8L), 1, "ppoll by number");
    HOLDS(time.tv_sec == 0 && time.tv_nsec > 0, "ppoll by number: what is left of the time is stored");
    FAILS(syscall(SYS_ppoll, &polled, 1L, &time, &mask, 16L), EINVAL, "ppoll by number: the size of the mask");
    FD_ZERO(&set);
    FD_SET(far, &set);
    EXPECT(syscall(SYS_select, far + 1, &set, NULL, NULL, &now), 1, "select by number");
    EXPECT(syscall(SYS_pselect6, far + 1, &set, NULL, NULL, &short_time, NULL), 1, "pselect6 by number");
    struct iovec room = {bytes, 2};
    EXPECT(syscall(SYS_readv, far, &room, 1), 2, "readv by number");
    EXPECT(syscall(SYS_read, far, bytes, 9L), 3, "read by number");
    BYTES(bytes, 3, "cde", "read by number");
    FD_ZERO(&set);
    FD_SET(far, &set);
    EXPECT(syscall(SYS_pselect6, far + 1, &set, NULL, NULL, &short_time, NULL), 0, "pselect6 by number: the time is over");
    HOLDS(short_time.tv_sec == 0 && short_time.tv_nsec == 0, "pselect6 by number: no time is left");
    FAILS(syscall(SYS_read, far, bad_pointer, 9L), EFAULT, "read by number: a bad address");
    FAILS(syscall(SYS_pread64, far, bytes, 9L, 0L), ESPIPE, "pread64 by number");
    FAILS(syscall(SYS_ioctl, far, (long)I_POP, 0L), EINVAL, "ioctl by number: no module is there");
    EXPECT(syscall(SYS_ioctl, far, (long)I_PUSH, "nullmod"), 0, "ioctl by number");
}

static void numbers_by_number(void) {
    struct stat status;
    open_ends();
    int copy = (int)syscall(SYS_dup, far);
    EXPECT(isastream(copy), 1, "dup by number");
    EXPECT(syscall(SYS_dup3, far, 70, O_CLOEXEC), 70, "dup3 by number");
    EXPECT(isastream(70), 1, "dup3 by number");
    EXPECT(syscall(SYS_fcntl, far, F_DUPFD, 80L), 80, "F_DUPFD by number");
    EXPECT(isastream(80), 1, "F_DUPFD by number");
    EXPECT(syscall(SYS_fstat, far, &status), 0, "fstat by number");
    HOLDS(S_ISFIFO(status.st_mode), "fstat by number: a FIFO");
    EXPECT(syscall(SYS_newfstatat, far, "", &status, AT_EMPTY_PATH), 0, "newfstatat by number");
    HOLDS(S_ISFIFO(status.st_mode), "newfstatat by number: a FIFO");
    EXPECT(syscall(SYS_fcntl, far, F_SETFL, (long)O_NONBLOCK), 0, "F_SETFL by number");
    FAILS(syscall(SYS_read, far, bytes, 1L), EAGAIN, "F_SETFL by number");
    int device = (int)syscall(SYS_openat, AT_FDCWD, "/dev/streams/clone/echo", O_RDWR);
    EXPECT(isastream(device), 1, "openat by number: a driver's name");
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    EXPECT(isastream(file), 0, "openat by number: a file");
    int set = (int)syscall(SYS_epoll_create1, 0), kernel[2] = {-1, -1};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = 5};
    EXPECT(syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, far, &event), 0, "epoll_ctl by number");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(syscall(SYS_epoll_pwait, set, &event, 1, 1000, NULL, 8L), 1, "epoll_pwait by number");
    EXPECT(event.data.u32, 5, "epoll_pwait by number: the data");
    EXPECT(event.events, EPOLLIN, "epoll_pwait by number: the events");
    EXPECT(syscall(SYS_epoll_wait, set, &event, 1, 0), 1, "epoll_wait by number");
    EXPECT(syscall(SYS_pipe2, kernel, 0), 0, "pipe2 by number");
    EXPECT(isastream(kernel[0]), 0, "pipe2 by number is the kernel's");
}

static void calls_that_concern_no_stream(void) {
    int ends[2];
    uint32_t word = 1;
    struct timespec time = {.tv_nsec = 1000000};
    for (int with_streams = 0; with_streams < 2; with_streams++) {
        in_context(with_streams ? "with streams" : "without streams");
        if (with_streams)
            open_pipe(ends);
        EXPECT(syscall(SYS_getpid), getpid(), "no argument");
        char *map = (char *)syscall(SYS_mmap, NULL, 8192L, (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
        HOLDS(map != MAP_FAILED, "six arguments");
        map[8191] = 1;
        EXPECT(syscall(SYS_munmap, map, 8192L), 0, "two arguments");
        FAILS(write(with_streams ? ends[0] : 1, map, 10), EFAULT, "the library knows that the memory is gone");
        FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &time, NULL, 0), ETIMEDOUT, "six arguments, and an error");
        FAILS(syscall(SYS_close, -1), EBADF, "an error");
        FAILS(syscall(100000L), ENOSYS, "a number that is no system call's");
        FAILS(syscall(-1L), ENOSYS, "a number that is no system call's");
        errno = 7;
        EXPECT(syscall(SYS_getppid), getppid(), "no argument");
        pid_t child = (pid_t)syscall(SYS_fork);
        if (child == 0)
            _exit(3);
        int status = 0;
        EXPECT(waitpid(child, &status, 0), child, "fork by number");
        EXPECT(WEXITSTATUS(status), 3, "fork by number");
    }
}

static void send_descriptor(struct msghdr *message, struct iovec *piece, char *control, size_t room, int fd) {
    *piece = (struct iovec){"!", 1};
    *message = (struct msghdr){.msg_iov = piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

/* sendmmsg and recvmmsg carry streams too. */
static void streams_in_several_messages(void) {
    int sockets[2], passed = -1;
    char control[2][CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {{0}}, byte[2];
    struct iovec pieces[2], rooms[2] = {{&byte[0], 1}, {&byte[1], 1}};
    struct mmsghdr messages[2] = {{{0}, 0}};
    open_ends();
    NEEDS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0, "socketpair");
    send_descriptor(&messages[0].msg_hdr, &pieces[0], control[0], sizeof control[0], far);
    messages[1].msg_hdr = (struct msghdr){.msg_iov = &pieces[0], .msg_iovlen = 1};
    EXPECT(sendmmsg(sockets[0], messages, 2, 0), 2, "sendmmsg");
    EXPECT(messages[0].msg_len, 1, "sendmmsg: the length of the first");
    EXPECT(messages[1].msg_len, 1, "sendmmsg: the length of the second");
    memset(control, 0, sizeof control);
    for (int at = 0; at < 2; at++)
        messages[at].msg_hdr = (struct msghdr){
            .msg_iov = &rooms[at], .msg_iovlen = 1, .msg_control = control[at], .msg_controllen = sizeof control[at]};
    EXPECT(recvmmsg(sockets[1], messages, 2, 0, NULL), 2, "recvmmsg");
    memcpy(&passed, CMSG_DATA((struct cmsghdr *)control[0]), sizeof passed);
    EXPECT(isastream(passed), 1, "a stream arrives as a stream");
    EXPECT(write(near, "through", 7), 7, "write");
    EXPECT(read(passed, bytes, 9), 7, "a stream arrives as a stream");
}

/* Calls by an instruction of the program. */

static int is_raw(void) { return HAS_RAW_CALLS; }

static void a_raw_close_ends_the_file(void) {
    int ends[2];
    struct pollfd polled = {.events = POLLIN};
    if (!is_raw())
        return;
    open_pipe(ends);
    if (fork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    EXPECT(raw_call(SYS_close, ends[1], 0, 0), 0, "a close that no library sees");
    EXPECT(read(ends[0], bytes, 4), 0, "the process's own read sees the end of the file");
    open_pipe(ends);
    raw_call(SYS_close, ends[1], 0, 0);
    polled.fd = ends[0];
    EXPECT(poll(&polled, 1, 5000), 1, "poll sees the end of the file");
    HOLDS(polled.revents & POLLHUP, "poll sees the end of the file");
    open_pipe(ends);
    raw_call(SYS_close, ends[1], 0, 0);
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), 0, "epoll_ctl");
    EXPECT(epoll_wait(set, &event, 1, 5000), 1, "epoll_wait sees the end of the file");
    HOLDS(event.events & EPOLLHUP, "epoll_wait sees the end of the file");
}

static void *close_later(void *fd) {
    sleep_ms(200);
    raw_call(SYS_close, *(int *)fd, 0, 0);
    return NULL;
}

static void raw_close_by_another_thread_gives_end_of_file(void) {
    int ends[2];
    pthread_t thread;
    if (!is_raw())
        return;
    open_pipe(ends);
    NEEDS(pthread_create(&thread, NULL, close_later, &ends[1]) == 0, "pthread_create");
    EXPECT(read(ends[0], bytes, 4), 0, "a read that has begun before sees the end of the file");
    pthread_join(thread, NULL);
    open_pipe(ends);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    NEEDS(pthread_create(&thread, NULL, close_later, &ends[1]) == 0, "pthread_create");
    EXPECT(poll(&polled, 1, 8000), 1, "a poll that has begun before sees the end of the file");
    pthread_join(thread, NULL);
}

/* Another descriptor of the stream keeps it open. */
static void a_raw_close_of_a_copy(void) {
    int ends[2];
    if (!is_raw())
        return;
    open_pipe(ends);
    int copy = dup(ends[1]);
    raw_call(SYS_close, ends[1], 0, 0);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    EXPECT(poll(&polled, 1, 100), 0, "the end is open as long as a descriptor of it is");
    EXPECT(write(copy, "x", 1), 1, "write");
    EXPECT(read(ends[0], bytes, 4), 1, "read");
    raw_call(SYS_close, copy, 0, 0);
    EXPECT(read(ends[0], bytes, 4), 0, "the last descriptor is closed");
}

/* A descriptor was closed by a raw call and is another file by now: it is treated as that file. */
static void descriptor_closed_by_raw_call_and_reused(void) {
    static const char *const ways[] = {"socket", "open", "dup", "pipe2", "a stream", "eventfd by number"};
    if (!is_raw())
        return;
    for (size_t way = 0; way < COUNT(ways); way++) {
        int ends[2], others[2] = {-1, -1};
        in_context("%s", ways[way]);
        open_pipe(ends);
        raw_call(SYS_close, ends[0], 0, 0);
        int fd = way == 0   ? socket(AF_UNIX, SOCK_STREAM, 0)
                 : way == 1 ? open("/dev/null", O_RDWR)
                 : way == 2 ? dup(0)
                 : way == 3 ? (pipe2(others, O_DIRECT), others[0])
                 : way == 4 ? open("/dev/streams/clone/echo", O_RDWR)
                            : (int)syscall(SYS_eventfd2, 0, O_NONBLOCK);
        EXPECT(fd, ends[0], "the lowest descriptor");
        EXPECT(isastream(fd), way == 4, "the descriptor is the new file's");
        EXPECT(read(ends[1], bytes, 4), 0, "the end that had the descriptor is closed");
        close(fd), close(ends[1]), close(others[1]);
    }
}

static void raw_transfers_are_an_error_at_both_ends(void) {
    int ends[2];
    if (!is_raw())
        return;
    on_signal(SIGPIPE, count_signal, 0);
    open_pipe(ends);
    EXPECT(raw_call(SYS_write, ends[1], (long)"abc", 3), 3, "a write that no library sees");
    FAILS(read(ends[0], bytes, 9), EPROTO, "the reader is told");
    FAILS(write(ends[1], "x", 1), EPIPE, "the writer is told: its socket is shut down");
    HOLDS(raw_call(SYS_write, ends[1], (long)"abc", 3) < 0, "the next write that no library sees fails");
    open_pipe(ends);
    set_nonblocking(ends[0], 1);
    EXPECT(raw_call(SYS_write, ends[1], (long)"abc", 3), 3, "a write that no library sees");
    FAILS(read(ends[0], bytes, 9), EPROTO, "a reader that does not wait is told");
    open_pipe(ends);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    EXPECT(raw_call(SYS_write, ends[1], (long)"abc", 3), 3, "a write that no library sees");
    EXPECT(poll(&polled, 1, 5000), 1, "poll of the reader");
    HOLDS(polled.revents & POLLERR, "poll of the reader: POLLERR");
    open_pipe(ends);
    EXPECT(write(ends[1], "abc", 3), 3, "write");
    EXPECT(raw_call(SYS_write, ends[1], (long)"abc", 3), 3, "a write that no library sees, behind data");
    EXPECT(close(ends[1]), 0, "close");
    EXPECT(read(ends[0], bytes, 9), 3, "the data before it are read");
    FAILS(read(ends[0], bytes, 9), EPROTO, "the end of the file is no clean one");
}

static const struct test tests[] = {
    TEST(a_close_by_number),
    TEST(data_by_number),
    TEST(numbers_by_number),
    TEST(calls_that_concern_no_stream),
    TEST(streams_in_several_messages),
    TEST(a_raw_close_ends_the_file),
    TEST_OF(raw_close_by_another_thread_gives_end_of_file, 30),
    TEST(a_raw_close_of_a_copy),
    TEST(descriptor_closed_by_raw_call_and_reused),
    TEST(raw_transfers_are_an_error_at_both_ends),
};
MAIN(tests)

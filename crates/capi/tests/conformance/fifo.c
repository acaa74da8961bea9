/* STREAMS FIFOs: opens that meet, O_NONBLOCK, writers that come and go, poll (POSIX open, read, write of FIFOs; STREAMS 4.15).
 * The program sets HEADWATER_FIFO=1 before the library opens a FIFO. */
#include "stream.h"
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static char path[60];

static void make_fifo(void) {
    char directory[] = "/tmp/conformance-XXXXXX";
    NEEDS(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/fifo", directory);
    NEEDS(mkfifo(path, 0600) == 0, "mkfifo");
}

static void remove_fifo(void) {
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
}

/* Opens a reader and a writer in this process. */
static void open_both(int *reader, int *writer) {
    make_fifo();
    *reader = open(path, O_RDONLY | O_NONBLOCK);
    NEEDS(*reader >= 0, "STREAMS 4.15: O_RDONLY | O_NONBLOCK opens at once");
    *writer = open(path, O_WRONLY | O_NONBLOCK);
    NEEDS(*writer >= 0, "STREAMS 4.15: O_WRONLY | O_NONBLOCK with a reader opens at once");
}

static void nonblocking_opens(void) {
    int reader, writer;
    make_fifo();
    FAILS(open(path, O_WRONLY | O_NONBLOCK), ENXIO, "STREAMS 4.15: O_WRONLY | O_NONBLOCK without a reader is ENXIO");
    reader = open(path, O_RDONLY | O_NONBLOCK);
    HOLDS(reader >= 0, "STREAMS 4.15: O_RDONLY | O_NONBLOCK opens at once");
    EXPECT(isastream(reader), 1, "POSIX isastream: a STREAMS FIFO");
    EXPECT(read(reader, got.data_bytes, 9), 0, "POSIX read: 0 from a FIFO that no process has open for writing");
    writer = open(path, O_WRONLY | O_NONBLOCK);
    HOLDS(writer >= 0, "STREAMS 4.15: O_WRONLY | O_NONBLOCK with a reader");
    EXPECT(isastream(writer), 1, "POSIX isastream: a STREAMS FIFO");
    FAILS(read(reader, got.data_bytes, 9), EAGAIN, "POSIX read: EAGAIN from an empty FIFO with a writer");
    EXPECT(write(writer, "bytes", 5), 5, "write");
    EXPECT(read(reader, got.data_bytes, 9), 5, "read");
    FAILS(write(reader, "x", 1), EBADF, "POSIX write: not open for writing");
    FAILS(read(writer, got.data_bytes, 1), EBADF, "POSIX read: not open for reading");
    EXPECT(fcntl(reader, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK, "POSIX F_GETFL");
    EXPECT(fcntl(writer, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY | O_NONBLOCK, "POSIX F_GETFL");
    close(writer);
    EXPECT(read(reader, got.data_bytes, 9), 0, "POSIX read: 0 when the last writer has closed");
    writer = open(path, O_WRONLY | O_NONBLOCK);
    HOLDS(writer >= 0, "POSIX open: another writer may come");
    EXPECT(write(writer, "again", 5), 5, "write");
    EXPECT(read(reader, got.data_bytes, 9), 5, "POSIX read: the new writer's bytes");
    remove_fifo();
}

static void blocking_opens_meet(void) {
    make_fifo();
    for (int first_is_reader = 0; first_is_reader < 2; first_is_reader++) {
        in_context("the %s comes first", first_is_reader ? "reader" : "writer");
        pid_t child = fork();
        if (child == 0) {
            int fd = open(path, first_is_reader ? O_RDONLY : O_WRONLY);
            if (fd < 0)
                _exit(1);
            if (first_is_reader)
                _exit(read(fd, got.data_bytes, 9) == 4 ? 0 : 2);
            _exit(write(fd, "meet", 4) == 4 ? 0 : 3);
        }
        sleep_ms(100);
        EXPECT(waitpid(child, NULL, WNOHANG), 0, "STREAMS 4.15: a blocking open waits for the other");
        int fd = open(path, first_is_reader ? O_WRONLY : O_RDONLY);
        HOLDS(fd >= 0, "STREAMS 4.15: blocking opens meet");
        if (first_is_reader)
            EXPECT(write(fd, "meet", 4), 4, "write");
        else
            EXPECT(read(fd, got.data_bytes, 9), 4, "read");
        EXPECT(ended_within(child, 3000), 0, "STREAMS 4.15: blocking opens meet");
        close(fd);
        in_context("%s", "");
    }
    remove_fifo();
}

static void a_signal_ends_a_blocking_open(void) {
    make_fifo();
    on_signal(SIGALRM, count_signal, 0);
    /* The alarm repeats, because one signal may come before the call waits. */
    alarms_every(50000);
    FAILS(open(path, O_RDONLY), EINTR, "POSIX open: EINTR");
    FAILS(open(path, O_WRONLY), EINTR, "POSIX open: EINTR");
    ualarm(0, 0);
    remove_fifo();
}

static void several_writers(void) {
    int reader, writer, seen[3] = {0}, wrong = 0;
    open_both(&reader, &writer);
    pid_t children[3];
    for (int at = 0; at < 3; at++)
        if ((children[at] = fork()) == 0) {
            int own = open(path, O_WRONLY);
            for (int count = 0; count < 1000; count++) {
                int words[2] = {at, count};
                if (write(own, words, sizeof words) != sizeof words)
                    _exit(1);
            }
            _exit(0);
        }
    close(writer);
    set_nonblocking(reader, 0);
    /* A read returns 0 until a writer has come. */
    for (long long end = now_ms() + 8000; now_ms() < end && seen[0] + seen[1] + seen[2] < 3000;) {
        int words[2];
        ssize_t count = read_all(reader, words, sizeof words);
        if (count == 0) {
            sleep_ms(1);
            continue;
        }
        if (count != sizeof words || words[0] < 0 || words[0] > 2 || words[1] != seen[words[0]]) {
            wrong++;
            break;
        }
        seen[words[0]]++;
    }
    EXPECT(wrong, 0, "POSIX write: writes of processes are not mixed, and each one's come in order");
    EXPECT(seen[0] + seen[1] + seen[2], 3000, "POSIX write: every byte arrives");
    for (int at = 0; at < 3; at++)
        EXPECT(ended_within(children[at], 2000), 0, "the writer ends");
    EXPECT(read(reader, got.data_bytes, 9), 0, "POSIX read: 0 after the last writer");
    remove_fifo();
}

static void without_a_reader(void) {
    int reader, writer;
    open_both(&reader, &writer);
    on_signal(SIGPIPE, count_signal, 0);
    close(reader);
    FAILS(write(writer, "x", 1), EPIPE, "POSIX write: EPIPE without a reader");
    EXPECT(signals_seen, 1, "POSIX write: SIGPIPE");
    remove_fifo();
}

static void poll_of_a_fifo(void) {
    int reader, writer;
    open_both(&reader, &writer);
    EXPECT(polled_for(reader, POLLIN), 0, "POSIX poll: nothing to read");
    EXPECT(polled_for(writer, POLLOUT), POLLOUT, "POSIX poll: writable");
    EXPECT(write(writer, "x", 1), 1, "write");
    EXPECT(polled_for(reader, POLLIN), POLLIN, "POSIX poll: readable");
    EXPECT(read(reader, got.data_bytes, 9), 1, "read");
    EXPECT(polled_for(reader, POLLIN), 0, "POSIX poll: nothing to read");
    fill(writer);
    EXPECT(polled_for(writer, POLLOUT), 0, "POSIX poll: full");
    while (read(reader, got.data_bytes, sizeof got.data_bytes) > 0)
        ;
    EXPECT(polled_for(writer, POLLOUT), POLLOUT, "POSIX poll: room");
    close(writer);
    EXPECT(polled_for(reader, POLLIN) & POLLHUP, POLLHUP, "POSIX poll: POLLHUP when the last writer has closed");
    remove_fifo();
}

/* Linux, fifo(7): an open for reading and writing never waits, and is its own peer. */
static void open_for_both(void) {
    make_fifo();
    on_signal(SIGALRM, count_signal, 0);
    ualarm(2000000, 0);
    int both = open(path, O_RDWR);
    HOLDS(both >= 0, "fifo(7): O_RDWR opens at once");
    ualarm(0, 0);
    EXPECT(isastream(both), 1, "POSIX isastream: a STREAMS FIFO");
    EXPECT(fcntl(both, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR, "POSIX F_GETFL");
    EXPECT(polled_for(both, POLLIN | POLLOUT), POLLOUT, "POSIX poll: writable");
    EXPECT(write(both, "own", 3), 3, "write");
    EXPECT(polled_for(both, POLLIN | POLLOUT), POLLIN | POLLOUT, "POSIX poll: both");
    BYTES(got.data_bytes, read(both, got.data_bytes, 9), "own", "fifo(7): reads what it has written");
    set_nonblocking(both, 1);
    FAILS(read(both, got.data_bytes, 9), EAGAIN, "fifo(7): no end of the file, as there is a writer");
    struct iovec pieces[2] = {{"ab", 2}, {"cd", 2}};
    EXPECT(writev(both, pieces, 2), 4, "writev");
    BYTES(got.data_bytes, read(both, got.data_bytes, 9), "abcd", "readv");
    EXPECT(put_message(both, "ctl", "data", 0), 0, "POSIX putmsg");
    get_message(both);
    PARTS("ctl", "data", "POSIX getmsg");
    fill(both);
    EXPECT(polled_for(both, POLLIN | POLLOUT), POLLIN, "POSIX poll: full");
    while (read(both, got.data_bytes, sizeof got.data_bytes) > 0)
        ;
    EXPECT(polled_for(both, POLLIN | POLLOUT), POLLOUT, "POSIX poll: room");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT};
    int epoll = epoll_create1(0);
    EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, both, &event), 0, "epoll_ctl");
    EXPECT(epoll_wait(epoll, &event, 1, 1000), 1, "epoll_wait");
    EXPECT(event.events, EPOLLOUT, "epoll_wait: writable");
    EXPECT(write(both, "x", 1), 1, "write");
    EXPECT(epoll_wait(epoll, &event, 1, 1000), 1, "epoll_wait");
    EXPECT(event.events, EPOLLIN | EPOLLOUT, "epoll_wait: both");
    EXPECT(read(both, got.data_bytes, 9), 1, "read");
    close(epoll);
    /* It is also the peer of other processes: neither side waits, and no open is refused. */
    ualarm(2000000, 0);
    int reader = open(path, O_RDONLY), writer = open(path, O_WRONLY);
    HOLDS(reader >= 0 && writer >= 0, "fifo(7): an open for both is a reader and a writer for others");
    ualarm(0, 0);
    EXPECT(write(writer, "other", 5), 5, "write");
    BYTES(got.data_bytes, read(both, got.data_bytes, 9), "other", "read from another writer");
    close(writer);
    set_nonblocking(reader, 1);
    FAILS(read(reader, got.data_bytes, 9), EAGAIN, "fifo(7): no end of the file for others");
    int copy = dup(both);
    close(both);
    FAILS(read(reader, got.data_bytes, 9), EAGAIN, "POSIX dup: a copy keeps it open");
    writer = open(path, O_WRONLY | O_NONBLOCK);
    close(reader);
    on_signal(SIGPIPE, count_signal, 0);
    EXPECT(write(writer, "x", 1), 1, "fifo(7): it is a reader");
    BYTES(got.data_bytes, read(copy, got.data_bytes, 9), "x", "read by the copy");
    close(copy);
    signals_seen = 0;
    FAILS(write(writer, "x", 1), EPIPE, "POSIX write: EPIPE when it has closed");
    EXPECT(signals_seen, 1, "POSIX write: SIGPIPE");
    reader = open(path, O_RDONLY | O_NONBLOCK);
    close(writer);
    EXPECT(read(reader, got.data_bytes, 9), 0, "POSIX read: the end of the file when it has closed");
    remove_fifo();
}

static void messages_through_a_fifo(void) {
    int reader, writer;
    open_both(&reader, &writer);
    EXPECT(put_message(writer, "ctl", "data", 0), 0, "POSIX putmsg: to a STREAMS FIFO");
    get_message(reader);
    PARTS("ctl", "data", "POSIX getmsg: from a STREAMS FIFO");
    EXPECT(put_in_band(writer, "b", NULL, 2), 0, "POSIX putpmsg: to a STREAMS FIFO");
    get_from_band(reader, 0, MSG_ANY);
    EXPECT(got.band, 2, "POSIX getpmsg: from a STREAMS FIFO");
    struct strrecvfd file;
    HOLDS(ioctl(writer, I_SENDFD, 0) == -1 && errno == EINVAL, "docs/guarantees.md: no file is passed through a FIFO");
    (void)file;
    remove_fifo();
}

static void status_of_a_fifo(void) {
    int reader, writer;
    open_both(&reader, &writer);
    struct stat by_path, by_descriptor;
    HOLDS(stat(path, &by_path) == 0 && fstat(reader, &by_descriptor) == 0, "POSIX fstat");
    HOLDS(S_ISFIFO(by_descriptor.st_mode), "POSIX fstat: a FIFO");
    HOLDS(by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev, "POSIX fstat: the file of the path");
    remove_fifo();
}

/* Calls about the file of the descriptor are made on the FIFO's node, and not on the pipe that the kernel has there. */
static void calls_about_the_file_concern_the_node(void) {
    int reader, writer;
    struct stat seen;
    struct statx seen_x;
    struct statfs of_path, of_descriptor;
    struct timespec times[2] = {{1, 0}, {2, 0}};
    char list[8];
    make_fifo();
    chmod(path, 0666);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    writer = open(path, O_WRONLY | O_NONBLOCK);
    NEEDS(reader >= 0 && writer >= 0, "open");
    EXPECT(fchmod(reader, 0640), 0, "POSIX fchmod");
    HOLDS(stat(path, &seen) == 0 && (seen.st_mode & 07777) == 0640, "POSIX fchmod: the node's mode");
    HOLDS(fstat(writer, &seen) == 0 && (seen.st_mode & 07777) == 0640, "POSIX fstat: the node's mode");
    HOLDS(statx(reader, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &seen_x) == 0 && (seen_x.stx_mode & 07777) == 0640, "statx: the node's mode");
    HOLDS(seen_x.stx_ino == seen.st_ino, "statx: the node");
    EXPECT(syscall(SYS_fchmod, writer, 0604L), 0, "fchmod by number");
    HOLDS(stat(path, &seen) == 0 && (seen.st_mode & 07777) == 0604, "fchmod by number: the node's mode");
    EXPECT(futimens(reader, times), 0, "POSIX futimens");
    HOLDS(stat(path, &seen) == 0 && seen.st_mtime == 2, "POSIX futimens: the node's time");
    EXPECT(fstatfs(reader, &of_descriptor), 0, "fstatfs");
    HOLDS(statfs(path, &of_path) == 0 && of_path.f_type == of_descriptor.f_type, "fstatfs: the node's file system");
    HOLDS(flistxattr(reader, list, 0) == listxattr(path, list, 0), "flistxattr: the node's attributes");
    char new_path[80];
    snprintf(new_path, sizeof new_path, "%s-link", path);
    EXPECT(linkat(reader, "", AT_FDCWD, new_path, AT_EMPTY_PATH), getuid() == 0 ? 0 : -1, "linkat: the node");
    unlink(new_path);
    EXPECT(flock(reader, LOCK_EX | LOCK_NB), 0, "flock");
    if (getuid() == 0) {
        /* The owner and the mode are those of the node. */
        EXPECT(fchown(writer, 65534, 65534), 0, "POSIX fchown");
        HOLDS(stat(path, &seen) == 0 && seen.st_uid == 65534, "POSIX fchown: the node's owner");
        EXPECT(fchown(writer, 0, 0), 0, "POSIX fchown");
        chmod(path, 0666);
        *strrchr(path, '/') = 0;
        chmod(path, 0755);
        path[strlen(path)] = '/';
        pid_t child = fork();
        if (child == 0) {
            if (setgid(65534) != 0 || setuid(65534) != 0)
                _exit(2);
            int other = open(path, O_WRONLY | O_NONBLOCK);
            _exit(other >= 0 && write(other, "other", 5) == 5 ? 0 : errno);
        }
        EXPECT(ended_within(child, 5000), 0, "fchmod of a descriptor before, chmod of the path now: another user writes");
        EXPECT(read(reader, got.data_bytes, 9), 5, "another user's bytes");
    }
    remove_fifo();
}

static void permissions(void) {
    make_fifo();
    FAILS(open("/tmp/conformance-no-such-directory/fifo", O_RDONLY), ENOENT, "POSIX open: ENOENT");
    chmod(path, 0);
    if (getuid() != 0)
        FAILS(open(path, O_RDONLY | O_NONBLOCK), EACCES, "POSIX open: EACCES");
    chmod(path, 0600);
    on_signal(SIGALRM, count_signal, 0); /* ends opens that should fail and wait instead */
    ualarm(300000, 0);
    FAILS(open(path, O_RDONLY | O_CREAT | O_EXCL, 0600), EEXIST, "POSIX open: EEXIST");
    ualarm(300000, 0);
    FAILS(open(path, O_RDONLY | O_DIRECTORY), ENOTDIR, "POSIX open: ENOTDIR");
    ualarm(0, 0);
    remove_fifo();
}

static void without_the_variable_open_gives_the_kernels_fifo(void) {
    make_fifo();
    pid_t child = fork();
    if (child == 0) {
        unsetenv("HEADWATER_FIFO");
        execl("/proc/self/exe", "fifo", "plain", path, NULL);
        _exit(99);
    }
    EXPECT(ended_within(child, 3000), 0, "without HEADWATER_FIFO=1 open gives the kernel's FIFO");
    remove_fifo();
}

static int plain_role(const char *name) {
    char byte;
    int reader = open(name, O_RDONLY | O_NONBLOCK), writer = open(name, O_WRONLY | O_NONBLOCK);
    return isastream(reader) == 0 && isastream(writer) == 0 && write(writer, "x", 1) == 1 && read(reader, &byte, 1) == 1 ? 0 : 1;
}

static const struct test tests[] = {
    TEST(nonblocking_opens),
    TEST(blocking_opens_meet),
    TEST(a_signal_ends_a_blocking_open),
    TEST_OF(several_writers, 20),
    TEST(without_a_reader),
    TEST(poll_of_a_fifo),
    TEST(open_for_both),
    TEST(messages_through_a_fifo),
    TEST(status_of_a_fifo),
    TEST(calls_about_the_file_concern_the_node),
    TEST(permissions),
    TEST(without_the_variable_open_gives_the_kernels_fifo),
};

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "plain") == 0)
        return plain_role(argv[2]);
    /* The variable is set for a new start of the program, because the library may read it when it is loaded. */
    if (getenv("HEADWATER_FIFO") == NULL) {
        setenv("HEADWATER_FIFO", "1", 1);
        execv("/proc/self/exe", argv);
    }
    return run_tests(argc, argv, tests, COUNT(tests));
}

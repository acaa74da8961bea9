/* File descriptors of streams: dup, dup2, dup3, fcntl, close, close_range, fstat. They are the lowest free ones, and all
 * descriptors of an end are one end (POSIX dup, fcntl, pipe, close; STREAMS 4.2). */
#include "stream.h"
#include <sys/resource.h>

static int lowest_free(void) {
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

static void the_lowest_numbers_are_used(void) {
    int first = lowest_free(), ends[2];
    open_pipe(ends);
    EXPECT(ends[0], first, "POSIX pipe: the lowest descriptor");
    EXPECT(ends[1], first + 1, "POSIX pipe: the two lowest descriptors");
    EXPECT(lowest_free(), first + 2, "POSIX dup: no other descriptor below is taken");
    int copy = dup(ends[0]);
    EXPECT(copy, first + 2, "POSIX dup: the lowest descriptor");
    close(ends[0]);
    EXPECT(lowest_free(), first, "POSIX close: frees the descriptor");
    int device = open_device("echo");
    EXPECT(device, first, "POSIX open: the lowest descriptor");
    int more[2];
    close(copy);
    open_pipe(more);
    EXPECT(more[0], first + 2, "POSIX pipe: the lowest descriptor");
    EXPECT(more[1], first + 3, "POSIX pipe: the next one");
    EXPECT(write(device, "x", 1), 1, "the device works");
    EXPECT(write(more[1], "y", 1), 1, "the pipe works");
    EXPECT(read(more[0], got.data_bytes, 9), 1, "the pipe works");
    close(device), close(more[0]), close(more[1]), close(ends[1]);
    EXPECT(lowest_free(), first, "POSIX close: nothing is left");
}

static void standard_input_is_reused(void) {
    close(0);
    int ends[2];
    open_pipe(ends);
    EXPECT(ends[0], 0, "POSIX pipe: 0 if it is free");
    EXPECT(write(ends[1], "to 0", 4), 4, "write");
    EXPECT(read(0, got.data_bytes, 9), 4, "read of 0");
}

static void copies_are_the_same_end(void) {
    open_ends();
    int copies[4] = {dup(far), dup2(far, 50), dup3(far, 51, O_CLOEXEC), fcntl(far, F_DUPFD, 60)};
    EXPECT(copies[1], 50, "POSIX dup2");
    EXPECT(copies[2], 51, "dup3");
    EXPECT(copies[3], 60, "POSIX F_DUPFD: the lowest descriptor not below the argument");
    EXPECT(fcntl(far, F_DUPFD_CLOEXEC, 60), 61, "POSIX F_DUPFD_CLOEXEC");
    EXPECT(fcntl(61, F_GETFD), FD_CLOEXEC, "POSIX F_DUPFD_CLOEXEC: is closed by exec");
    EXPECT(fcntl(51, F_GETFD), FD_CLOEXEC, "dup3: O_CLOEXEC");
    EXPECT(fcntl(50, F_GETFD), 0, "POSIX dup2: is not closed by exec");
    for (int at = 0; at < 4; at++) {
        EXPECT(isastream(copies[at]), 1, "POSIX dup: the same open file description");
        EXPECT(write(near, "abc", 3), 3, "write");
        EXPECT(read(copies[at], got.data_bytes, 1), 1, "read of a copy");
        EXPECT(read(far, got.data_bytes + 1, 9), 2, "POSIX dup: copies read the same stream");
    }
    close(far);
    for (int at = 0; at < 4; at++) {
        EXPECT(write(near, "x", 1), 1, "STREAMS 4.2: hang-up only when the last reference is gone");
        EXPECT(read(copies[at], got.data_bytes, 9), 1, "read of a copy");
        close(copies[at]);
    }
    EXPECT(write(near, "x", 1), 1, "STREAMS 4.2: F_DUPFD_CLOEXEC is a reference too");
    close(61);
    EXPECT(read(near, got.data_bytes, 9), 0, "STREAMS 4.2: hang-up when the last reference is gone");
}

static void dup2_onto_a_stream_closes_it(void) {
    int other[2];
    open_ends();
    open_pipe(other);
    EXPECT(dup2(other[0], far), far, "POSIX dup2");
    EXPECT(read(near, got.data_bytes, 9), 0, "POSIX dup2: the old stream is closed");
    EXPECT(write(other[1], "x", 1), 1, "write");
    EXPECT(read(far, got.data_bytes, 9), 1, "POSIX dup2: the descriptor is the other stream");
    EXPECT(dup2(far, far), far, "POSIX dup2: the same descriptor is no change");
    EXPECT(isastream(far), 1, "POSIX dup2: the same descriptor is no change");
    FAILS(dup3(far, far, 0), EINVAL, "dup3: the same descriptor");
    FAILS(dup2(far, -1), EBADF, "POSIX dup2: EBADF");
    FAILS(dup2(999, 60), EBADF, "POSIX dup2: EBADF");
    FAILS(dup(-1), EBADF, "POSIX dup: EBADF");
    int null = open("/dev/null", O_RDWR);
    EXPECT(dup2(null, far), far, "POSIX dup2: a file over a stream");
    EXPECT(isastream(far), 0, "POSIX dup2: the descriptor is the file");
    EXPECT(read(far, got.data_bytes, 9), 0, "POSIX dup2: the descriptor is the file");
    EXPECT(dup2(other[0], null), null, "POSIX dup2: a stream over a file");
    EXPECT(isastream(null), 1, "POSIX dup2: the descriptor is the stream");
    close(other[0]);
    EXPECT(write(other[1], "y", 1), 1, "POSIX dup2: the copy is a reference");
}

static void status_flags(void) {
    open_ends();
    EXPECT(fcntl(near, F_GETFL) & O_ACCMODE, O_RDWR, "POSIX pipe: STREAMS pipes are bidirectional");
    EXPECT(fcntl(near, F_GETFL) & O_NONBLOCK, 0, "POSIX pipe: O_NONBLOCK is clear");
    EXPECT(fcntl(near, F_GETFD), 0, "POSIX pipe: FD_CLOEXEC is clear");
    int copy = dup(near);
    set_nonblocking(near, 1);
    EXPECT(fcntl(copy, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "POSIX fcntl: O_NONBLOCK belongs to the open file description");
    EXPECT(fcntl(far, F_GETFL) & O_NONBLOCK, 0, "POSIX fcntl: the other end has its own");
    FAILS(read(copy, got.data_bytes, 9), EAGAIN, "POSIX read: O_NONBLOCK");
    set_nonblocking(copy, 0);
    EXPECT(fcntl(near, F_GETFL) & O_NONBLOCK, 0, "POSIX fcntl: O_NONBLOCK belongs to the open file description");
    EXPECT(fcntl(near, F_SETFD, FD_CLOEXEC), 0, "POSIX F_SETFD");
    EXPECT(fcntl(near, F_GETFD), FD_CLOEXEC, "POSIX F_GETFD");
    EXPECT(fcntl(copy, F_GETFD), 0, "POSIX F_SETFD: belongs to the descriptor");
    EXPECT(fcntl(near, F_SETFD, 0), 0, "POSIX F_SETFD");
    EXPECT(fcntl(near, F_GETFD), 0, "POSIX F_SETFD: cleared");
    int device = open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT(fcntl(device, F_GETFD), FD_CLOEXEC, "POSIX open: O_CLOEXEC");
    EXPECT(fcntl(device, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "POSIX open: O_NONBLOCK");
    FAILS(read(device, got.data_bytes, 9), EAGAIN, "POSIX open: O_NONBLOCK");
    int ends[2];
    EXPECT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0, "pipe2");
    EXPECT(fcntl(ends[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK, "pipe2: O_NONBLOCK");
    EXPECT(fcntl(ends[1], F_GETFD), FD_CLOEXEC, "pipe2: O_CLOEXEC");
}

static void access_modes_of_devices(void) {
    int reader = open("/dev/streams/clone/echo", O_RDONLY), writer = open("/dev/streams/clone/echo", O_WRONLY);
    HOLDS(reader >= 0 && writer >= 0, "open");
    EXPECT(fcntl(reader, F_GETFL) & O_ACCMODE, O_RDONLY, "POSIX F_GETFL: the access mode");
    EXPECT(fcntl(writer, F_GETFL) & O_ACCMODE, O_WRONLY, "POSIX F_GETFL: the access mode");
    FAILS(write(reader, "x", 1), EBADF, "POSIX write: not open for writing");
    FAILS(read(writer, got.data_bytes, 1), EBADF, "POSIX read: not open for reading");
    EXPECT(write(writer, "x", 1), 1, "write");
    FAILS(open("/dev/streams/clone/nosuch", O_RDWR), ENOENT, "POSIX open: no such device");
    FAILS(open("/dev/streams/nosuch", O_RDWR), ENOENT, "POSIX open: no such device");
}

static void status(void) {
    struct stat near_status, far_status, device_status;
    open_ends();
    EXPECT(fstat(near, &near_status), 0, "POSIX fstat");
    EXPECT(fstat(far, &far_status), 0, "POSIX fstat");
    HOLDS(near_status.st_ino != far_status.st_ino || near_status.st_dev != far_status.st_dev, "POSIX fstat: the ends are two files");
    int copy = dup(near);
    EXPECT(fstat(copy, &far_status), 0, "POSIX fstat");
    HOLDS(near_status.st_ino == far_status.st_ino && near_status.st_dev == far_status.st_dev, "POSIX fstat: a copy is the same file");
    int device = open_device("echo");
    EXPECT(fstat(device, &device_status), 0, "POSIX fstat");
    FAILS(ftruncate(near, 0), EINVAL, "POSIX ftruncate: no regular file");
    EXPECT(fsync(near) == 0 || errno == EINVAL, 1, "POSIX fsync: EINVAL where it is not supported");
}

static void closing(void) {
    open_ends();
    EXPECT(close(far), 0, "POSIX close");
    FAILS(close(far), EBADF, "POSIX close: EBADF");
    FAILS(read(far, got.data_bytes, 1), EBADF, "POSIX read: EBADF");
    FAILS(write(far, "x", 1), EBADF, "POSIX write: EBADF");
    FAILS(fcntl(far, F_GETFL), EBADF, "POSIX fcntl: EBADF");
    FAILS(ioctl(far, I_PUSH, "nullmod"), EBADF, "POSIX ioctl: EBADF");
    EXPECT(polled_for(far, POLLIN), POLLNVAL, "POSIX poll: POLLNVAL");
    on_signal(SIGPIPE, count_signal, 0);
    FAILS(write(near, "x", 1), EPIPE, "STREAMS 4: EPIPE");
    EXPECT(signals_seen, 1, "STREAMS 4: SIGPIPE");
}

static void the_same_number_anew(void) {
    for (int round = 0; round < 50; round++) {
        open_ends();
        EXPECT(write(near, "old", 3), 3, "write");
        int fd = far;
        close(far);
        int null = open("/dev/null", O_RDWR);
        EXPECT(null, fd, "POSIX open: the lowest descriptor");
        EXPECT(isastream(null), 0, "POSIX close: the descriptor has no memory of the stream");
        EXPECT(read(null, got.data_bytes, 9), 0, "POSIX close: the descriptor has no memory of the stream");
        close(null);
        int device = open_device("echo");
        EXPECT(device, fd, "POSIX open: the lowest descriptor");
        set_nonblocking(device, 1);
        FAILS(read(device, got.data_bytes, 9), EAGAIN, "POSIX close: the descriptor has no memory of the stream");
        close(device);
        close(near);
    }
}

static void ranges_are_closed(void) {
    open_ends();
    int copy = fcntl(far, F_DUPFD, 100);
    EXPECT(close_range(100, ~0U, 0), 0, "close_range");
    FAILS(fcntl(copy, F_GETFD), EBADF, "close_range: closes the copy");
    EXPECT(write(near, "x", 1), 1, "STREAMS 4.2: the end lives while a descriptor is left");
    EXPECT(read(far, got.data_bytes, 9), 1, "close_range: what the library needs for the descriptors below is not closed");
    copy = fcntl(far, F_DUPFD, 100);
    close(far);
    EXPECT(close_range(100, 200, 0), 0, "close_range");
    EXPECT(read(near, got.data_bytes, 9), 0, "STREAMS 4.2: close_range of the last reference hangs up");
    open_ends();
    copy = fcntl(far, F_DUPFD, 100);
    EXPECT(close_range(100, 100, CLOSE_RANGE_CLOEXEC), 0, "close_range: CLOSE_RANGE_CLOEXEC");
    EXPECT(fcntl(copy, F_GETFD), FD_CLOEXEC, "close_range: CLOSE_RANGE_CLOEXEC");
    close(far);
    EXPECT(write(near, "x", 1), 1, "close_range: CLOSE_RANGE_CLOEXEC closes nothing now");
    closefrom(near + 1);
    FAILS(fcntl(copy, F_GETFD), EBADF, "closefrom");
    EXPECT(read(near, got.data_bytes, 9), 0, "STREAMS 4.2: closefrom of the last reference hangs up");
}

static void a_loop_that_closes_every_number(void) {
    open_ends();
    for (int fd = 3; fd < 1024; fd++)
        if (fd != near && fd != far && fd != report_fd)
            close(fd);
    EXPECT(write(near, "x", 1), 1, "STREAMS 4.2: a program that closes all descriptors but the ends keeps the ends");
    EXPECT(read(far, got.data_bytes, 9), 1, "STREAMS 4.2: a program that closes all descriptors but the ends keeps the ends");
}

static void no_numbers_left(void) {
    int copies[1100], count = 0;
    while (count < 1100 && (copies[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    int ends[2] = {-7, -8};
    if (count < 1100) {
        FAILS(pipe(ends), EMFILE, "POSIX pipe: EMFILE");
        EXPECT(ends[0], -7, "POSIX pipe: the array is left alone");
        FAILS(open("/dev/streams/clone/echo", O_RDWR), EMFILE, "POSIX open: EMFILE");
        close(copies[--count]);
        FAILS(pipe(ends), EMFILE, "POSIX pipe: EMFILE with one descriptor left");
        EXPECT(lowest_free(), copies[count], "POSIX pipe: a call that fails leaves no descriptor taken");
    }
}

static void a_thousand_descriptors(void) {
    enum { PIPES = 200 };
    static int ends[PIPES][2];
    for (int at = 0; at < PIPES; at++) {
        open_pipe(ends[at]);
        EXPECT(write(ends[at][0], &at, sizeof at), sizeof at, "write");
    }
    for (int at = PIPES - 1; at >= 0; at--) {
        int number = -1;
        EXPECT(read(ends[at][1], &number, sizeof number), sizeof number, "read");
        EXPECT(number, at, "each pipe has its own data");
        close(ends[at][0]);
        EXPECT(read(ends[at][1], &number, sizeof number), 0, "each pipe ends by itself");
        close(ends[at][1]);
    }
}

static void with_a_small_limit_of_open_files(void) {
    enum { MOST = 100 };
    static const int limits[] = {100, 63, 40, 16, 10};
    for (size_t at = 0; at < COUNT(limits); at++) {
        pid_t child = fork();
        if (child != 0) {
            EXPECT(ended_within(child, 5000), 0, "the child ends");
            continue;
        }
        in_context("limit %d", limits[at]);
        struct rlimit limit = {.rlim_cur = limits[at], .rlim_max = limits[at]};
        int ends[MOST][2], pipes = 0, lowest = 0;
        /* The program that started the suite may have left descriptors open. */
        for (int fd = 3; fd < 300; fd++)
            if (fd != report_fd)
                close(fd);
        NEEDS(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
        while (pipes < MOST && pipe(ends[pipes]) == 0) {
            lowest += ends[pipes][0] == 3 + 2 * pipes && ends[pipes][1] == 4 + 2 * pipes;
            pipes++;
        }
        HOLDS(pipes < MOST && errno == EMFILE, "POSIX pipe: EMFILE");
        /* Each stream takes two descriptors of the program and three of the library, which lie above half of the limit while
         * there is room. */
        HOLDS(pipes >= (limits[at] - 3) / 5, "a pipe takes five descriptors");
        HOLDS(lowest >= limits[at] / 2 / 3 || lowest == pipes, "POSIX pipe: the lowest descriptors");
        for (int one = 0; one < pipes; one++) {
            EXPECT(write(ends[one][0], "x", 1), 1, "write");
            EXPECT(read(ends[one][1], got.data_bytes, 9), 1, "read");
        }
        for (int one = 0; one < pipes; one++) {
            EXPECT(close(ends[one][0]), 0, "close");
            EXPECT(close(ends[one][1]), 0, "close");
        }
        int files = 0;
        while (open("/dev/null", O_RDONLY) >= 0)
            files++;
        EXPECT(files >= limits[at] - 4, 1, "nothing but the library's own is left open");
        fflush(NULL);
        _exit(0);
    }
}

static const struct test tests[] = {
    TEST(the_lowest_numbers_are_used),
    TEST(standard_input_is_reused),
    TEST(copies_are_the_same_end),
    TEST(dup2_onto_a_stream_closes_it),
    TEST(status_flags),
    TEST(access_modes_of_devices),
    TEST(status),
    TEST(closing),
    TEST(the_same_number_anew),
    TEST(ranges_are_closed),
    TEST(a_loop_that_closes_every_number),
    TEST(no_numbers_left),
    TEST(a_thousand_descriptors),
    TEST(with_a_small_limit_of_open_files),
};
MAIN(tests)

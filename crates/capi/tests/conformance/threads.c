/* Threads at one end: one reads while others write, poll, change options and close (POSIX: every call is atomic with respect to
 * others; STREAMS 4.2). */
#include "joined.h"
#include "stream.h"
#include <sys/epoll.h>

static void *joined(pthread_t thread, const char *rule) { return joined_within(thread, 5, rule); }

enum { WRITERS = 4, MESSAGES = 5000 };

static void *write_numbers(void *argument) {
    int number = (int)(intptr_t)argument;
    for (int at = 0; at < MESSAGES; at++) {
        int words[2] = {number, at};
        struct strbuf data = {.len = sizeof words, .buf = (char *)words};
        if (at % 3 == 0 ? putmsg(near, NULL, &data, 0) != 0 : write(near, words, sizeof words) != sizeof words)
            return (void *)1;
    }
    return NULL;
}

static volatile int polling;

static void *poll_and_look(void *unused) {
    (void)unused;
    long count = 0;
    while (polling) {
        struct pollfd two[2] = {{.fd = far, .events = POLLIN}, {.fd = near, .events = POLLOUT}};
        int bytes, events = POLLHUP;
        if (poll(two, 2, 1) < 0 || (two[0].revents & events) || ioctl(far, I_NREAD, &bytes) < 0 || ioctl(near, I_CANPUT, 0) < 0)
            return (void *)-1;
        count++;
    }
    return (void *)count;
}

static void one_reads_others_write_and_poll(void) {
    pthread_t writers[WRITERS], poller;
    int next[WRITERS] = {0}, wrong = 0;
    open_ends();
    polling = 1;
    poller = started(poll_and_look, NULL);
    for (int at = 0; at < WRITERS; at++)
        writers[at] = started(write_numbers, (void *)(intptr_t)at);
    for (int at = 0; at < WRITERS * MESSAGES; at++) {
        int words[2];
        if (read_all(far, words, sizeof words) != sizeof words || words[0] < 0 || words[0] >= WRITERS || words[1] != next[words[0]]) {
            wrong++;
            break;
        }
        next[words[0]]++;
    }
    EXPECT(wrong, 0, "POSIX write: calls of threads are not mixed, and each thread's come in their order");
    for (int at = 0; at < WRITERS; at++)
        HOLDS(joined(writers[at], "the writer ends") == NULL, "each write succeeds");
    polling = 0;
    HOLDS((long)joined(poller, "the poller ends") > 0, "poll, I_NREAD and I_CANPUT beside them succeed");
}

static void *read_once(void *fd) {
    char text[20];
    ssize_t count = read((int)(intptr_t)fd, text, sizeof text);
    return (void *)(intptr_t)(count < 0 ? -errno : count);
}

static void *poll_once(void *fd) {
    struct pollfd one = {.fd = (int)(intptr_t)fd, .events = POLLIN};
    return (void *)(intptr_t)(poll(&one, 1, 3000) < 0 ? -errno : one.revents);
}

static void the_other_ends_close_wakes_every_sleeper(void) {
    pthread_t readers[3], poller;
    open_ends();
    for (int at = 0; at < 3; at++)
        readers[at] = started(read_once, (void *)(intptr_t)near);
    poller = started(poll_once, (void *)(intptr_t)near);
    sleep_ms(100);
    close(far);
    for (int at = 0; at < 3; at++)
        EXPECT((intptr_t)joined(readers[at], "POSIX read: a hang-up ends the wait"), 0, "POSIX read: 0 at the end");
    HOLDS((intptr_t)joined(poller, "POSIX poll: a hang-up ends the wait") & POLLHUP, "POSIX poll: POLLHUP");
}

static void a_close_beside_a_sleeping_reader(void) {
    open_ends();
    pthread_t reader = started(read_once, (void *)(intptr_t)near);
    sleep_ms(100);
    EXPECT(close(near), 0, "POSIX close");
    intptr_t value = (intptr_t)joined(reader, "SVR4 close: a reader of the closed descriptor comes out");
    in_context("the read gave %ld", (long)value);
    HOLDS(value == -EBADF || value == 0 || value == -EINTR, "SVR4 close: a reader of the closed descriptor comes out");
    in_context("%s", "");
    on_signal(SIGPIPE, SIG_IGN, 0);
    FAILS(write(far, "x", 1), EPIPE, "STREAMS 4.2: the end is closed");
}

static void *write_one(void *argument) {
    sleep_ms(50);
    return (void *)(intptr_t)write((int)(intptr_t)argument, "x", 1);
}

static void a_thread_writes_to_its_own_process(void) {
    open_ends();
    for (int round = 0; round < 20; round++) {
        pthread_t writer = started(write_one, (void *)(intptr_t)near);
        char byte;
        EXPECT(read(far, &byte, 1), 1, "POSIX read: woken by another thread");
        EXPECT((intptr_t)joined(writer, "the writer ends"), 1, "write");
    }
}

static void *open_and_close(void *unused) {
    (void)unused;
    for (int round = 0; round < 200; round++) {
        int ends[2];
        char byte = (char)round, seen = 0;
        if (pipe(ends) != 0)
            return (void *)1;
        if (write(ends[0], &byte, 1) != 1 || read(ends[1], &seen, 1) != 1 || seen != byte)
            return (void *)2;
        int copy = dup(ends[0]);
        if (copy < 0 || close(ends[0]) != 0 || write(copy, &byte, 1) != 1 || close(copy) != 0)
            return (void *)3;
        if (read(ends[1], &seen, 1) != 1 || read(ends[1], &seen, 1) != 0 || close(ends[1]) != 0)
            return (void *)4;
    }
    return NULL;
}

static void threads_open_and_close_at_once(void) {
    pthread_t threads[6];
    for (int at = 0; at < 6; at++)
        threads[at] = started(open_and_close, NULL);
    for (int at = 0; at < 6; at++)
        EXPECT((intptr_t)joined(threads[at], "the thread ends"), 0, "POSIX: descriptors of threads are not mixed up");
}

static void *write_until_refused(void *argument) {
    ssize_t count;
    while ((count = write((int)(intptr_t)argument, "abcdefgh", 8)) == 8)
        ;
    return (void *)(intptr_t)errno;
}

static void the_reader_closes_while_threads_write(void) {
    on_signal(SIGPIPE, SIG_IGN, 0);
    for (int round = 0; round < 20; round++) {
        pthread_t writers[3];
        open_ends();
        for (int at = 0; at < 3; at++)
            writers[at] = started(write_until_refused, (void *)(intptr_t)near);
        for (int at = 0; at < 10 * round; at++)
            if (read(far, got.data_bytes, 1000) <= 0)
                break;
        close(far);
        for (int at = 0; at < 3; at++)
            EXPECT((intptr_t)joined(writers[at], "POSIX write: a writer without a reader comes out"), EPIPE, "STREAMS 4: EPIPE");
        close(near);
    }
}

static void *fork_children(void *unused) {
    (void)unused;
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (child == 0) {
            char byte = 'c';
            int ends[2];
            _exit(pipe(ends) == 0 && write(ends[0], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1 ? 0 : 1);
        }
        if (ended_within(child, 3000) != 0)
            return (void *)1;
    }
    return NULL;
}

static void fork_while_threads_use_streams(void) {
    open_ends();
    polling = 1;
    pthread_t users[2] = {started(open_and_close, NULL), started(poll_and_look, NULL)};
    pthread_t forker = started(fork_children, NULL);
    EXPECT((intptr_t)joined(forker, "the thread that forks ends"), 0, "POSIX fork: the child of a process with threads uses streams");
    polling = 0;
    EXPECT((intptr_t)joined(users[0], "the thread ends"), 0, "streams beside forks");
    HOLDS((intptr_t)joined(users[1], "the thread ends") > 0, "poll beside forks");
}

static void threads_come_and_go(void) {
    open_ends();
    for (int round = 0; round < 300; round++) {
        pthread_t thread = started(read_once, (void *)(intptr_t)far);
        EXPECT(write(near, "x", 1), 1, "write");
        EXPECT((intptr_t)joined(thread, "the reader ends"), 1, "POSIX read: of a new thread");
    }
}

static void *cancelled_read(void *fd) {
    char byte;
    return (void *)(intptr_t)read((int)(intptr_t)fd, &byte, 1);
}

static void a_cancelled_reader_leaves_the_stream(void) {
    open_ends();
    pthread_t reader = started(cancelled_read, (void *)(intptr_t)far);
    sleep_ms(50);
    pthread_cancel(reader);
    sleep_ms(50);
    /* libheadwater(7): calls on streams are no cancellation points. The byte ends the read, whether or not the reader's thread
     * has ended. */
    EXPECT(write(near, "ab", 2), 2, "write");
    void *value = joined(reader, "POSIX pthread_cancel: the reader ends");
    char byte = 0;
    EXPECT(read(far, &byte, 1), 1, "POSIX pthread_cancel: the stream works");
    EXPECT(byte, value == PTHREAD_CANCELED ? 'a' : 'b', "POSIX pthread_cancel: a cancelled read has taken nothing");
}

static const struct test tests[] = {
    TEST_OF(one_reads_others_write_and_poll, 30),
    TEST(the_other_ends_close_wakes_every_sleeper),
    TEST(a_close_beside_a_sleeping_reader),
    TEST(a_thread_writes_to_its_own_process),
    TEST_OF(threads_open_and_close_at_once, 30),
    TEST_OF(the_reader_closes_while_threads_write, 30),
    TEST_OF(fork_while_threads_use_streams, 30),
    TEST(threads_come_and_go),
    TEST(a_cancelled_reader_leaves_the_stream),
};
MAIN(tests)

/* Signals and blocking calls: EINTR or the partial count without SA_RESTART, restarts with it (POSIX signal concepts, read, write;
 * STREAMS 4.3). */
#include "stream.h"

static ssize_t do_read(void) { return read(far, got.data_bytes, 10); }
static ssize_t do_readv(void) {
    struct iovec piece = {got.data_bytes, 10};
    return readv(far, &piece, 1);
}
static ssize_t do_getmsg(void) {
    struct got *message = get_message(far);
    errno = message->error;
    return message->value;
}
static ssize_t do_getpmsg(void) {
    struct got *message = get_from_band(far, 0, MSG_ANY);
    errno = message->error;
    return message->value;
}
static ssize_t do_write(void) { return write(near, "x", 1); }
static ssize_t do_writev(void) {
    struct iovec piece = {(char *)"x", 1};
    return writev(near, &piece, 1);
}
static ssize_t do_putmsg(void) { return put_message(near, "c", "d", 0); }
static ssize_t do_putpmsg(void) { return put_in_band(near, "c", "d", 0); }
static ssize_t do_recvfd(void) {
    struct strrecvfd file;
    return ioctl(far, I_RECVFD, &file);
}

static const struct row {
    const char *name;
    ssize_t (*run)(void);
    int writes;
    ssize_t value;
} rows[] = {
    {"read", do_read, 0, 4},    {"readv", do_readv, 0, 4},   {"getmsg", do_getmsg, 0, 0},   {"getpmsg", do_getpmsg, 0, 0},
    {"write", do_write, 1, 1},  {"writev", do_writev, 1, 1}, {"putmsg", do_putmsg, 1, 0},   {"putpmsg", do_putpmsg, 1, 0},
};

static void a_handler_ends_every_call(void) {
    open_ends();
    on_signal(SIGALRM, count_signal, 0);
    fill(near);
    int others[2];
    open_pipe(others);
    int full = near, empty = others[1];
    for (size_t at = 0; at < COUNT(rows); at++) {
        in_context("%s", rows[at].name);
        if (!rows[at].writes)
            far = empty;
        near = full;
        signals_seen = 0;
        /* The alarm repeats, because one signal may come before the call waits. */
        alarms_every(30000);
        FAILS(rows[at].run(), EINTR, "POSIX: EINTR without SA_RESTART");
        ualarm(0, 0);
        HOLDS(signals_seen >= 1, "POSIX: the handler runs");
    }
    alarms_every(30000);
    in_context("%s", "I_RECVFD");
    FAILS(do_recvfd(), EINTR, "POSIX I_RECVFD: EINTR");
    ualarm(0, 0);
}

/* Starts a child that makes the call succeed after three signals. */
static void with_sa_restart_every_call_continues(void) {
    for (size_t at = 0; at < COUNT(rows); at++) {
        open_ends();
        on_signal(SIGUSR1, count_signal, SA_RESTART);
        signals_seen = 0;
        if (rows[at].writes)
            fill(near);
        pid_t child = fork();
        if (child == 0) {
            for (int count = 0; count < 3; count++) {
                sleep_ms(30);
                kill(getppid(), SIGUSR1);
            }
            sleep_ms(30);
            if (rows[at].writes) {
                set_nonblocking(far, 1);
                while (read(far, got.data_bytes, sizeof got.data_bytes) > 0)
                    ;
                set_nonblocking(far, 0);
            } else
                put_message(near, NULL, "data", 0);
            _exit(0);
        }
        in_context("%s", rows[at].name);
        EXPECT(rows[at].run(), rows[at].value, "POSIX: SA_RESTART continues the call");
        EXPECT(signals_seen, 3, "POSIX: the handler runs for each signal");
        in_context("%s", "");
        EXPECT(ended_within(child, 3000), 0, "the child ends");
        close(near), close(far);
    }
}

/* Reads a byte that a child writes after it has sent some signals. */
static ssize_t read_beside(int signal_number) {
    open_ends();
    signals_seen = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int count = 0; count < 2; count++) {
            sleep_ms(40);
            kill(getppid(), signal_number);
        }
        sleep_ms(40);
        _exit(write(near, "x", 1) == 1 ? 0 : 1);
    }
    errno = 0;
    ssize_t count = read(far, got.data_bytes, 10);
    int error = errno;
    EXPECT(ended_within(child, 2000), 0, "the child ends");
    errno = error;
    return count;
}

static void fault_handlers_do_not_affect_restarts(void) {
    on_signal(SIGUSR1, count_signal, SA_RESTART);
    on_signal(SIGSEGV, count_signal, 0);
    on_signal(SIGBUS, count_signal, 0);
    EXPECT(read_beside(SIGUSR1), 1, "POSIX sigaction: SA_RESTART is of the signal that came, not of a handler of faults");
}

/* libheadwater(7): the library does not see which handler ran, and lets a call fail if one handler has no SA_RESTART. */
static void one_handler_without_sa_restart_ends_the_call(void) {
    on_signal(SIGUSR1, count_signal, SA_RESTART);
    on_signal(SIGUSR2, count_signal, 0);
    FAILS(read_beside(SIGUSR1), EINTR, "libheadwater: a handler without SA_RESTART");
    FAILS(read_beside(SIGUSR2), EINTR, "POSIX sigaction: without SA_RESTART: EINTR");
}

static void a_partial_write_is_reported(void) {
    static char bytes[1000000];
    open_ends();
    on_signal(SIGALRM, count_signal, 0);
    alarms_every(100000);
    ssize_t count = write(near, bytes, sizeof bytes);
    ualarm(0, 0);
    in_context("%zd bytes", count);
    HOLDS(count > 0 && count < (ssize_t)sizeof bytes, "POSIX write: a signal after some bytes: their number");
    in_context("%s", "");
    set_nonblocking(far, 1);
    ssize_t sum = 0, got_now;
    while ((got_now = read(far, bytes, sizeof bytes)) > 0)
        sum += got_now;
    EXPECT(sum, count, "POSIX write: exactly that many were sent");
}

static void ignored_signals_interrupt_nothing(void) {
    open_ends();
    signal(SIGUSR1, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        for (int at = 0; at < 5; at++) {
            sleep_ms(20);
            kill(getppid(), SIGUSR1);
            kill(getppid(), SIGCHLD);
            kill(getppid(), SIGWINCH);
        }
        _exit(write(near, "x", 1) == 1 ? 0 : 1);
    }
    char byte;
    EXPECT(read(far, &byte, 1), 1, "POSIX: an ignored signal does not interrupt");
    EXPECT(ended_within(child, 2000), 0, "the child ends");
}

static void stop_and_continue(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        char byte;
        _exit(read(far, &byte, 1) == 1 && byte == 'x' ? 0 : errno == EINTR ? 2 : 1);
    }
    for (int at = 0; at < 3; at++) {
        sleep_ms(30);
        kill(child, SIGSTOP);
        sleep_ms(30);
        kill(child, SIGCONT);
    }
    sleep_ms(30);
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(ended_within(child, 2000), 0, "signal(7): SIGSTOP and SIGCONT without a handler do not end the call");
}

static int handler_error, handler_value;

static void use_the_stream(int number) {
    int saved = errno;
    char byte;
    (void)number;
    if (handler_value)
        return;
    handler_value = (int)read(near, &byte, 1) + (int)write(near, "h", 1);
    handler_error = errno;
    errno = saved;
}

static void a_handler_uses_a_stream(void) {
    open_ends();
    int other[2];
    open_pipe(other);
    EXPECT(write(far, "12345", 5), 5, "write");
    on_signal(SIGALRM, use_the_stream, 0);
    alarms_every(50000);
    FAILS(read(other[0], got.data_bytes, 9), EINTR, "POSIX: EINTR");
    ualarm(0, 0);
    EXPECT(handler_value, 2, "POSIX: read and write are async-signal-safe");
    EXPECT(read(far, got.data_bytes, 9), 1, "POSIX: what the handler has written");
}

static void many_signals_lose_nothing(void) {
    enum { BYTES_SENT = 300000 };
    open_ends();
    on_signal(SIGALRM, count_signal, SA_RESTART);
    pid_t child = fork();
    if (child == 0) {
        close(far);
        unsigned char bytes[777];
        alarms_every(700);
        on_signal(SIGALRM, count_signal, 0);
        for (int sent = 0; sent < BYTES_SENT;) {
            int len = BYTES_SENT - sent < 777 ? BYTES_SENT - sent : 777;
            for (int at = 0; at < len; at++)
                bytes[at] = (unsigned char)((sent + at) % 253);
            ssize_t count = write(near, bytes, (size_t)len);
            if (count < 0 && errno != EINTR)
                _exit(1);
            if (count > 0)
                sent += (int)count;
        }
        _exit(0);
    }
    close(near);
    struct timespec pause = {0, 100000};
    int sum = 0, wrong = 0;
    alarms_every(900);
    for (;;) {
        unsigned char bytes[1000];
        ssize_t count = read(far, bytes, sizeof bytes);
        if (count == 0)
            break;
        if (count < 0) {
            HOLDS(errno == EINTR, "read");
            continue;
        }
        for (int at = 0; at < count; at++)
            wrong += bytes[at] != (unsigned char)((sum + at) % 253);
        sum += (int)count;
        nanosleep(&pause, NULL);
    }
    ualarm(0, 0);
    EXPECT(sum, BYTES_SENT, "STREAMS 4.3: partial counts are exact");
    EXPECT(wrong, 0, "STREAMS 4.3: every byte in its order");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

/* A profiler sends signals this often. A wait that starts again with each signal must not start with what delays the look at the
 * other end. */
static void end_is_noticed_despite_frequent_signals(void) {
    for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
        open_ends();
        on_signal(SIGALRM, count_signal, flags);
        pid_t child = fork();
        if (child == 0) {
            sleep_ms(100);
            _exit(0);
        }
        close(near);
        ssize_t count;
        long long start = now_ms();
        alarms_every(900);
        while ((count = read(far, got.data_bytes, 9)) == -1 && errno == EINTR && now_ms() < start + 3000)
            ;
        ualarm(0, 0);
        in_context("%s SA_RESTART", flags ? "with" : "without");
        EXPECT(count, 0, "STREAMS 4.2: the end of the last writer is noticed, however often signals come");
        in_context("%s", "");
        waitpid(child, NULL, 0);
    }
}

static void sleeps_are_not_restarted_by_sa_restart(void) {
    open_ends();
    on_signal(SIGALRM, count_signal, SA_RESTART);
    struct pollfd one = {.fd = far, .events = POLLIN};
    alarms_every(30000);
    FAILS(poll(&one, 1, 3000), EINTR, "signal(7): poll");
    HOLDS(signals_seen >= 1, "the handler ran");
}

static void sigpipe_kills_by_default(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        close(far);
        /* Writes succeed until the parent has closed its copy. */
        while (write(near, "x", 1) == 1)
            ;
        _exit(1);
    }
    int status;
    close(far);
    waitpid(child, &status, 0);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE, "POSIX write: SIGPIPE ends the process by default");
    EXPECT(ioctl(near, I_SWROPT, 0), 0, "I_SWROPT without SNDPIPE");
    on_signal(SIGPIPE, count_signal, 0);
    FAILS(write(near, "x", 1), EPIPE, "STREAMS 1: SNDPIPE off");
    EXPECT(signals_seen, 0, "STREAMS 1: SNDPIPE off: no signal");
}

static const struct test tests[] = {
    TEST(a_handler_ends_every_call),
    TEST_OF(with_sa_restart_every_call_continues, 20),
    TEST(fault_handlers_do_not_affect_restarts),
    TEST(one_handler_without_sa_restart_ends_the_call),
    TEST(a_partial_write_is_reported),
    TEST(ignored_signals_interrupt_nothing),
    TEST(stop_and_continue),
    TEST(a_handler_uses_a_stream),
    TEST_OF(many_signals_lose_nothing, 30),
    TEST(end_is_noticed_despite_frequent_signals),
    TEST(sleeps_are_not_restarted_by_sa_restart),
    TEST(sigpipe_kills_by_default),
};
MAIN(tests)

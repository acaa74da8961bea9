/* I_SETSIG, I_GETSIG, I_ESETSIG, I_EGETSIG: SIGPOLL and SIGURG by event (POSIX I_SETSIG, STREAMS 2 and 4.8). */
#include "stream.h"

static volatile sig_atomic_t polls, urgents;

static void count_poll(int number) { (void)number, polls++; }
static void count_urgent(int number) { (void)number, urgents++; }

static void prepare(void) {
    open_ends();
    set_nonblocking(far, 1);
    on_signal(SIGPOLL, count_poll, 0);
    on_signal(SIGURG, count_urgent, 0);
}

/* Returns the signals that one action raises at the far end, which is registered for these events. */
static void check_event(int events, void (*action)(void), int polls_wanted, int urgents_wanted, const char *name) {
    prepare();
    in_context("events %#x, %s", events, name);
    EXPECT(ioctl(far, I_SETSIG, events), 0, "POSIX I_SETSIG");
    polls = urgents = 0;
    action();
    EXPECT(polls, polls_wanted, "POSIX I_SETSIG: SIGPOLL");
    EXPECT(urgents, urgents_wanted, "POSIX I_SETSIG: SIGURG");
    in_context("%s", "");
    close(near);
    ioctl(far, I_SETSIG, 0);
    close(far);
}

static void ordinary(void) { HOLDS(put_message(near, "c", "d", 0) == 0, "putmsg"); }
static void bytes(void) { HOLDS(write(near, "x", 1) == 1, "write"); }
static void banded(void) { HOLDS(put_in_band(near, "c", "d", 3) == 0, "putpmsg"); }
static void high(void) { HOLDS(put_message(near, "c", NULL, RS_HIPRI) == 0, "putmsg"); }

static void messages_by_kind(void) {
    static const struct {
        int events;
        int seen[4]; /* ordinary, bytes, banded, high */
    } rows[] = {
        {S_RDNORM, {1, 1, 0, 0}}, {S_RDBAND, {0, 0, 1, 0}}, {S_HIPRI, {0, 0, 0, 1}},
        {S_INPUT, {1, 1, 1, 0}},  {S_HANGUP, {0, 0, 0, 0}}, {S_INPUT | S_HIPRI, {1, 1, 1, 1}},
    };
    void (*const actions[4])(void) = {ordinary, bytes, banded, high};
    static const char *const names[4] = {"ordinary", "bytes", "banded", "high"};
    for (size_t row = 0; row < COUNT(rows); row++)
        for (int at = 0; at < 4; at++)
            check_event(rows[row].events, actions[at], rows[row].seen[at], 0, names[at]);
    check_event(S_RDBAND | S_BANDURG, banded, 0, 1, "banded");
    check_event(S_RDBAND | S_BANDURG, ordinary, 0, 0, "ordinary");
}

static void each_message_is_told(void) {
    prepare();
    EXPECT(ioctl(far, I_SETSIG, S_RDNORM), 0, "I_SETSIG");
    for (int at = 1; at <= 5; at++) {
        ordinary();
        EXPECT(polls, at, "STREAMS 2: signals are raised when the message arrives");
    }
}

static void hangups_and_errors(void) {
    prepare();
    EXPECT(ioctl(far, I_SETSIG, S_HANGUP), 0, "I_SETSIG");
    close(near);
    EXPECT(polls, 1, "POSIX I_SETSIG: S_HANGUP");
    prepare();
    EXPECT(ioctl(near, I_PUSH, "testmod"), 0, "I_PUSH");
    EXPECT(ioctl(near, I_SETSIG, S_ERROR | S_MSG), 0, "I_SETSIG");
    polls = 0;
    request(near, "signal 29");
    EXPECT(polls, 1, "POSIX I_SETSIG: S_MSG for an M_SIG of SIGPOLL");
    request(near, "error 71 71");
    EXPECT(polls, 2, "POSIX I_SETSIG: S_ERROR");
}

static void room_in_bands(void) {
    prepare();
    set_nonblocking(near, 1);
    EXPECT(ioctl(near, I_SETSIG, S_OUTPUT), 0, "I_SETSIG");
    fill(near);
    polls = 0;
    while (read(far, got.data_bytes, sizeof got.data_bytes) > 0)
        ;
    EXPECT(polls, 1, "POSIX I_SETSIG: S_OUTPUT when there is room again");
    EXPECT(ioctl(near, I_SETSIG, S_WRBAND), 0, "I_SETSIG");
    fill(near);
    polls = 0;
    while (read(far, got.data_bytes, sizeof got.data_bytes) > 0)
        ;
    EXPECT(polls, 0, "STREAMS 4.8: S_WRBAND does not fire for band 0");
}

static void registrations(void) {
    prepare();
    int events = -1;
    FAILS(ioctl(far, I_GETSIG, &events), EINVAL, "POSIX I_GETSIG: EINVAL when not registered");
    FAILS(ioctl(far, I_SETSIG, 0), EINVAL, "STREAMS 4.8: I_SETSIG(0) when not registered");
    FAILS(ioctl(far, I_SETSIG, 0x1000), EINVAL, "POSIX I_SETSIG: an unknown event");
    EXPECT(ioctl(far, I_SETSIG, S_INPUT | S_ERROR), 0, "POSIX I_SETSIG");
    EXPECT(ioctl(far, I_GETSIG, &events), 0, "POSIX I_GETSIG");
    EXPECT(events, S_INPUT | S_ERROR, "POSIX I_GETSIG: the events");
    EXPECT(ioctl(far, I_SETSIG, S_HIPRI), 0, "POSIX I_SETSIG: changes the events");
    EXPECT(ioctl(far, I_GETSIG, &events), 0, "POSIX I_GETSIG");
    EXPECT(events, S_HIPRI, "POSIX I_GETSIG: the events");
    EXPECT(ioctl(far, I_SETSIG, 0), 0, "POSIX I_SETSIG: 0 ends the registration");
    ordinary();
    EXPECT(polls, 0, "POSIX I_SETSIG: no signal after that");
    FAILS(ioctl(far, I_GETSIG, &events), EINVAL, "POSIX I_GETSIG: EINVAL when not registered");
}

static void each_process_for_itself(void) {
    prepare();
    EXPECT(ioctl(far, I_SETSIG, S_RDNORM), 0, "I_SETSIG");
    int ready[2];
    open_pipe(ready);
    pid_t child = fork();
    if (child == 0) {
        int events;
        polls = 0;
        if (ioctl(far, I_GETSIG, &events) != -1 || errno != EINVAL)
            _exit(1);
        if (ioctl(far, I_SETSIG, S_RDNORM) != 0 || write(ready[1], "r", 1) != 1)
            _exit(2);
        for (int at = 0; at < 200 && polls == 0; at++)
            sleep_ms(10);
        _exit(polls == 1 ? 0 : 3);
    }
    char byte;
    EXPECT(read(ready[0], &byte, 1), 1, "the child is registered");
    ordinary();
    EXPECT(polls, 1, "POSIX I_SETSIG: this process");
    EXPECT(ended_within(child, 4000), 0, "POSIX I_SETSIG: and the other, which did not inherit a registration");
}

static void another_process_by_esetsig(void) {
    prepare();
    struct strsigset set = {0};
    set.ss_pid = getpid();
    set.ss_events = S_RDNORM;
    EXPECT(ioctl(far, I_ESETSIG, &set), 0, "SVR4 I_ESETSIG: the process itself");
    set.ss_events = 0;
    EXPECT(ioctl(far, I_EGETSIG, &set), 0, "SVR4 I_EGETSIG");
    EXPECT(set.ss_events, S_RDNORM, "SVR4 I_EGETSIG: the events");
    ordinary();
    EXPECT(polls, 1, "SVR4 I_ESETSIG: SIGPOLL");
    set.ss_events = 0;
    EXPECT(ioctl(far, I_ESETSIG, &set), 0, "SVR4 I_ESETSIG: 0 ends the registration");
    FAILS(ioctl(far, I_ESETSIG, &set), EINVAL, "SVR4 I_ESETSIG: not registered");
    set.ss_pid = 0x3ffffff;
    set.ss_events = S_RDNORM;
    FAILS(ioctl(far, I_ESETSIG, &set), ESRCH, "SVR4 I_ESETSIG: no such process");
    pid_t child = fork();
    if (child == 0) {
        polls = 0;
        /* A process that has not used the stream gets no signal. */
        EXPECT(polled_for(far, POLLIN), POLLIN, "poll of the child");
        for (int at = 0; at < 200 && polls == 0; at++)
            sleep_ms(10);
        _exit(polls == 1 ? 0 : 3);
    }
    sleep_ms(100);
    set.ss_pid = child;
    EXPECT(ioctl(far, I_ESETSIG, &set), 0, "SVR4 I_ESETSIG: another process");
    ordinary();
    EXPECT(ended_within(child, 4000), 0, "SVR4 I_ESETSIG: the other process gets SIGPOLL");
}

static const struct test tests[] = {
    TEST(messages_by_kind),
    TEST(each_message_is_told),
    TEST(hangups_and_errors),
    TEST(room_in_bands),
    TEST(registrations),
    TEST(each_process_for_itself),
    TEST(another_process_by_esetsig),
};
MAIN(tests)

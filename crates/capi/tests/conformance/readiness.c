/* poll, ppoll, select and pselect: streams among other descriptors, time-outs, signal masks, hang-ups (POSIX poll, select; STREAMS
 * 4.14). */
#include "stream.h"
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>

static void streams_among_other_descriptors(void) {
    open_ends();
    int event = eventfd(0, EFD_NONBLOCK), sockets[2], device = open_device("echo");
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    struct pollfd all[7] = {
        {.fd = far, .events = POLLIN},      {.fd = event, .events = POLLIN},      {.fd = -5, .events = POLLIN},
        {.fd = device, .events = POLLIN},   {.fd = sockets[0], .events = POLLIN}, {.fd = 999, .events = POLLIN},
        {.fd = near, .events = POLLOUT},
    };
    EXPECT(poll(all, 7, -1), 2, "POSIX poll: near is writable, 999 is not open");
    EXPECT(all[5].revents, POLLNVAL, "POSIX poll: POLLNVAL");
    EXPECT(all[2].revents, 0, "POSIX poll: a negative descriptor is ignored");
    EXPECT(all[6].revents, POLLOUT, "POSIX poll: POLLOUT");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(eventfd_write(event, 1), 0, "eventfd_write");
    EXPECT(write(device, "y", 1), 1, "write");
    EXPECT(write(sockets[1], "z", 1), 1, "write");
    EXPECT(poll(all, 7, 1000), 6, "POSIX poll: every kind is reported");
    for (int at = 0; at < 5; at++)
        EXPECT(all[at].revents, at == 2 ? 0 : POLLIN, "POSIX poll: POLLIN of every kind");
    EXPECT(poll(all, 7, 0), 6, "POSIX poll: level-triggered");
}

static void time_outs(void) {
    open_ends();
    int kernel[2];
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, kernel) == 0, "socketpair");
    struct pollfd two[2] = {{.fd = far, .events = POLLIN}, {.fd = kernel[0], .events = POLLIN}};
    long long start = now_ms();
    EXPECT(poll(two, 2, 100), 0, "POSIX poll: 0 after the time-out");
    long long took = now_ms() - start;
    in_context("%lld ms", took);
    HOLDS(took >= 99 && took < 1000, "POSIX poll: the time-out");
    in_context("%s", "");
    EXPECT(two[0].revents | two[1].revents, 0, "POSIX poll: revents are cleared");
    start = now_ms();
    EXPECT(poll(two, 2, 0), 0, "POSIX poll: 0 looks and returns");
    HOLDS(now_ms() - start < 50, "POSIX poll: 0 looks and returns");
    start = now_ms();
    EXPECT(poll(NULL, 0, 50), 0, "POSIX poll: no descriptors: a sleep");
    HOLDS(now_ms() - start >= 49, "POSIX poll: no descriptors: a sleep");
}

/* A child does something after 50 ms; the caller waits meanwhile. */
static pid_t later(void (*what)(void)) {
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        what();
        _exit(0);
    }
    return child;
}

static int event, sockets[2];
static void write_near(void) { HOLDS(write(near, "x", 1) == 1, "write of the child"); }
static void read_far(void) {
    static char bytes[100000];
    while (read(far, bytes, sizeof bytes) > 0)
        if (polled_for(far, POLLIN) == 0)
            break;
}
static void write_event(void) { eventfd_write(event, 1); }
static void write_band(void) { HOLDS(put_in_band(near, "c", "d", 2) == 0, "putpmsg of the child"); }
static void write_high(void) { HOLDS(put_message(near, "c", NULL, RS_HIPRI) == 0, "putmsg of the child"); }

static void either_kind_of_message_wakes_poll(void) {
    open_ends();
    event = eventfd(0, 0);
    static const struct {
        void (*what)(void);
        short revents[2];
    } rows[] = {
        {write_near, {POLLIN | POLLRDNORM, 0}},
        {write_event, {0, POLLIN}},
        {write_band, {POLLIN | POLLRDBAND, 0}},
        {write_high, {POLLPRI, 0}},
    };
    for (size_t at = 0; at < COUNT(rows); at++) {
        struct pollfd two[2] = {{.fd = far, .events = POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI},
                                {.fd = event, .events = POLLIN | POLLRDNORM | POLLPRI}};
        pid_t child = later(rows[at].what);
        in_context("row %zu", at);
        EXPECT(poll(two, 2, 5000), 1, "POSIX poll: waits for any of them");
        EXPECT(two[0].revents, rows[at].revents[0], "POSIX poll: revents of the stream");
        EXPECT(two[1].revents, rows[at].revents[1], "POSIX poll: revents of the event descriptor");
        EXPECT(ended_within(child, 2000), 0, "the child ends");
        set_nonblocking(far, 1);
        get_message(far);
        set_nonblocking(far, 0);
        uint64_t count;
        if (two[1].revents)
            EXPECT(read(event, &count, 8), 8, "read of the event descriptor");
        in_context("%s", "");
    }
}

static void a_blocked_poll_for_room_is_woken(void) {
    open_ends();
    fill(near);
    struct pollfd one = {.fd = near, .events = POLLOUT | POLLIN};
    EXPECT(poll(&one, 1, 0), 0, "POSIX poll: no room");
    pid_t child = later(read_far);
    EXPECT(poll(&one, 1, 5000), 1, "STREAMS 2: a writer is woken by back-enable");
    EXPECT(one.revents, POLLOUT, "POSIX poll: POLLOUT");
    EXPECT(ended_within(child, 3000), 0, "the reader ends");
    SUCCEEDS(write(near, "x", 1), "POSIX poll: a write does not block after POLLOUT");
}

static void a_hangup_is_reported(void) {
    open_ends();
    EXPECT(write(near, "last", 4), 4, "write");
    pid_t child = fork();
    if (child == 0) {
        close(far);
        sleep_ms(100);
        _exit(0);
    }
    close(near);
    char text[9];
    EXPECT(read(far, text, 9), 4, "read");
    struct pollfd one = {.fd = far, .events = 0};
    EXPECT(poll(&one, 1, 5000), 1, "POSIX poll: POLLHUP is reported though not asked for");
    EXPECT(one.revents, POLLHUP, "POSIX poll: POLLHUP");
    EXPECT(polled_for(far, POLLIN | POLLOUT) & (POLLHUP | POLLOUT), POLLHUP, "POSIX poll: not writable after a hang-up");
    EXPECT(ended_within(child, 2000), 0, "the child ends");
}

static void select_of_both_kinds(void) {
    open_ends();
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    fd_set in, out, other;
    for (int round = 0; round < 4; round++) {
        FD_ZERO(&in); FD_ZERO(&out); FD_ZERO(&other);
        FD_SET(far, &in); FD_SET(sockets[0], &in); FD_SET(near, &out); FD_SET(far, &other);
        int highest = far > sockets[0] ? far : sockets[0];
        struct timeval time = {1, 0};
        in_context("round %d", round);
        EXPECT(select((highest > near ? highest : near) + 1, &in, &out, &other, &time), 1 + (round == 1 || round == 3) + (round >= 2),
               "POSIX select: the number of bits");
        EXPECT(FD_ISSET(near, &out) != 0, 1, "POSIX select: writable");
        EXPECT(FD_ISSET(far, &in) != 0, round == 1 || round == 3, "POSIX select: the stream is readable");
        EXPECT(FD_ISSET(sockets[0], &in) != 0, round >= 2, "POSIX select: the socket is readable");
        EXPECT(FD_ISSET(far, &other) != 0, 0, "POSIX select: no exception without a message of high priority");
        char byte;
        if (round == 0 || round == 2)
            EXPECT(write(near, "x", 1), 1, "write");
        else
            EXPECT(read(far, &byte, 1), 1, "read");
        if (round == 1)
            EXPECT(write(sockets[1], "x", 1), 1, "write");
        in_context("%s", "");
    }
    EXPECT(put_message(near, "c", NULL, RS_HIPRI), 0, "putmsg");
    FD_ZERO(&other); FD_SET(far, &other);
    struct timeval none = {0, 0};
    EXPECT(select(far + 1, NULL, NULL, &other, &none), 1, "SVR4 select: a message of high priority is an exceptional condition");
    FAILS(select(-1, NULL, NULL, NULL, &none), EINVAL, "POSIX select: nfds below 0");
    FD_ZERO(&in); FD_SET(999, &in);
    FAILS(select(1000, &in, NULL, NULL, &none), EBADF, "POSIX select: a descriptor that is not open");
    struct timeval bad = {0, -1};
    FD_ZERO(&in); FD_SET(far, &in);
    FAILS(select(far + 1, &in, NULL, NULL, &bad), EINVAL, "POSIX select: a bad time-out");
}

static void select_times_out_and_wakes(void) {
    open_ends();
    fd_set in;
    FD_ZERO(&in); FD_SET(far, &in);
    struct timeval time = {0, 100000};
    long long start = now_ms();
    EXPECT(select(far + 1, &in, NULL, NULL, &time), 0, "POSIX select: 0 after the time-out");
    HOLDS(now_ms() - start >= 99, "POSIX select: the time-out");
    EXPECT(FD_ISSET(far, &in) != 0, 0, "POSIX select: bits are cleared");
    FD_SET(far, &in);
    pid_t child = later(write_near);
    EXPECT(select(far + 1, &in, NULL, NULL, NULL), 1, "POSIX select: NULL waits for ever");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void signals_end_the_wait(void) {
    open_ends();
    on_signal(SIGALRM, count_signal, SA_RESTART);
    struct pollfd one = {.fd = far, .events = POLLIN};
    alarms_every(50000);
    FAILS(poll(&one, 1, 5000), EINTR, "signal(7): poll is never restarted");
    fd_set in;
    FD_ZERO(&in); FD_SET(far, &in);
    struct timeval time = {5, 0};
    FAILS(select(far + 1, &in, NULL, NULL, &time), EINTR, "signal(7): select is never restarted");
    ualarm(0, 0);
    HOLDS(signals_seen >= 2, "both signals were delivered");
}

static void signal_masks(void) {
    open_ends();
    on_signal(SIGUSR1, count_signal, 0);
    sigset_t blocked, none, before;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    NEEDS(sigprocmask(SIG_BLOCK, &blocked, &before) == 0, "sigprocmask");
    kill(getpid(), SIGUSR1);
    struct pollfd one = {.fd = far, .events = POLLIN};
    struct timespec time = {5, 0};
    EXPECT(poll(&one, 1, 50), 0, "POSIX poll: a blocked signal does not end it");
    EXPECT(signals_seen, 0, "the signal is blocked");
    FAILS(ppoll(&one, 1, &time, &none), EINTR, "POSIX ppoll: a pending signal that the mask lets through ends it");
    EXPECT(signals_seen, 1, "the signal was delivered");
    kill(getpid(), SIGUSR1);
    fd_set in;
    FD_ZERO(&in); FD_SET(far, &in);
    FAILS(pselect(far + 1, &in, NULL, NULL, &time, &none), EINTR, "POSIX pselect: a pending signal that the mask lets through ends it");
    EXPECT(signals_seen, 2, "the signal was delivered");
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    EXPECT(sigismember(&now, SIGUSR1), 1, "POSIX ppoll, pselect: the mask is restored");
    /* The reverse case: the mask of the call blocks a signal that the thread does not block. */
    NEEDS(sigprocmask(SIG_SETMASK, &before, NULL) == 0, "sigprocmask");
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        kill(getppid(), SIGUSR1);
        sleep_ms(50);
        write_near();
        _exit(0);
    }
    EXPECT(ppoll(&one, 1, &time, &blocked), 1, "POSIX ppoll: the mask blocks the signal while it waits");
    EXPECT(signals_seen, 3, "POSIX ppoll: the signal is delivered when the mask is restored");
    EXPECT(ended_within(child, 2000), 0, "the child ends");
    EXPECT(time.tv_sec, 5, "POSIX pselect: the time-out is not changed (glibc ppoll, pselect)");
}

static void many_streams(void) {
    enum { PIPES = 100 };
    static struct pollfd all[PIPES];
    static int ends[PIPES][2];
    for (int at = 0; at < PIPES; at++) {
        open_pipe(ends[at]);
        all[at] = (struct pollfd){.fd = ends[at][0], .events = POLLIN};
    }
    EXPECT(poll(all, PIPES, 0), 0, "POSIX poll: nothing is readable");
    for (int at = 0; at < PIPES; at += 3)
        EXPECT(write(ends[at][1], "x", 1), 1, "write");
    EXPECT(poll(all, PIPES, 0), (PIPES + 2) / 3, "POSIX poll: as many as have data");
    int wrong = 0;
    for (int at = 0; at < PIPES; at++)
        wrong += all[at].revents != (at % 3 == 0 ? POLLIN : 0);
    EXPECT(wrong, 0, "POSIX poll: each its own revents");
    struct pollfd same[3] = {all[0], all[0], all[1]};
    EXPECT(poll(same, 3, 0), 2, "POSIX poll: a descriptor may stand there twice");
}

static void other_events_do_not_prolong_the_timeout(void) {
    open_ends();
    /* What the other end writes to another band wakes no caller that has not asked for it. */
    pid_t child = fork();
    if (child == 0) {
        for (int at = 0; at < 40; at++) {
            write_near();
            sleep_ms(10);
        }
        _exit(0);
    }
    struct pollfd one = {.fd = far, .events = POLLPRI};
    long long start = now_ms();
    EXPECT(poll(&one, 1, 200), 0, "POSIX poll: what was not asked for is not reported");
    long long took = now_ms() - start;
    in_context("%lld ms", took);
    HOLDS(took >= 199 && took < 800, "POSIX poll: the time-out");
    in_context("%s", "");
    EXPECT(ended_within(child, 3000), 0, "the writer ends");
}

static const struct test tests[] = {
    TEST(streams_among_other_descriptors),
    TEST(time_outs),
    TEST(either_kind_of_message_wakes_poll),
    TEST(a_blocked_poll_for_room_is_woken),
    TEST(a_hangup_is_reported),
    TEST(select_of_both_kinds),
    TEST(select_times_out_and_wakes),
    TEST(signals_end_the_wait),
    TEST(signal_masks),
    TEST(many_streams),
    TEST(other_events_do_not_prolong_the_timeout),
};
MAIN(tests)

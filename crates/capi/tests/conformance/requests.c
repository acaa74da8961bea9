/* I_STR and transparent ioctls: answers, refusals, time-outs, copies to and from the caller's memory (POSIX I_STR, STREAMS 4.12;
 * the commands are those of testmod). */
#include "stream.h"

enum { REVERSE = 0x4801, REFUSE = 0x4802, FAIL = 0x4803, IGNORE = 0x4804, DELAY = 0x4805, COPY = 0x4808, FAILED_COPIES = 0x4809 };

static int stream, is_pipe;

static void open_stream(void) {
    int ends[2];
    if (is_pipe)
        open_pipe(ends);
    else
        ends[0] = open_device("echo");
    stream = ends[0];
    NEEDS(ioctl(stream, I_PUSH, "testmod") == 0, "I_PUSH of testmod succeeds");
}

static int ask(int command, char *data, int len, int seconds, int *answer_len) {
    struct strioctl call = {.ic_cmd = command, .ic_timout = seconds, .ic_len = len, .ic_dp = data};
    int value = ioctl(stream, I_STR, &call);
    if (answer_len)
        *answer_len = call.ic_len;
    return value;
}

static void an_answer_with_data(void) {
    for (is_pipe = 0; is_pipe < 2; is_pipe++) {
        char data[10] = "abcde";
        int len;
        open_stream();
        EXPECT(ask(REVERSE, data, 5, 5, &len), 5, "POSIX I_STR: the value of the acknowledgement");
        EXPECT(len, 5, "POSIX I_STR: ic_len of the answer");
        BYTES(data, len, "edcba", "POSIX I_STR: the data of the answer");
        EXPECT(ask(REVERSE, data, 0, 0, &len), 0, "POSIX I_STR: no data, the default time-out");
        EXPECT(ask(REVERSE, data, 2, -1, &len), 2, "POSIX I_STR: a time-out of -1 is infinite");
    }
}

static void refusals(void) {
    open_stream();
    char number = ENOSPC;
    FAILS(ask(REFUSE, &number, 1, 5, NULL), ENOSPC, "POSIX I_STR: the errno of the negative acknowledgement");
    number = 0;
    FAILS(ask(REFUSE, &number, 1, 5, NULL), EINVAL, "DDI M_IOCNAK: no errno is EINVAL");
    number = EDOM;
    FAILS(ask(FAIL, &number, 1, 5, NULL), EDOM, "DDI M_IOCACK: an errno in the acknowledgement");
    FAILS(ask(0x1234, &number, 1, 5, NULL), EINVAL, "STREAMS 4.12: an unknown command");
}

static void time_outs(void) {
    open_stream();
    long long start = now_ms();
    char byte = 0;
    FAILS(ask(IGNORE, &byte, 1, 1, NULL), ETIME, "POSIX I_STR: ETIME after the time-out");
    long long took = now_ms() - start;
    in_context("%lld ms", took);
    HOLDS(took >= 990 && took < 3000, "POSIX I_STR: the time-out in seconds");
    in_context("%s", "");
    FAILS(ask(REVERSE, &byte, 1, -2, NULL), EINVAL, "STREAMS 4.12: a time-out below -1");
    EXPECT(ask(REVERSE, &byte, 1, 1, NULL), 1, "an ioctl after one that was not answered");
    on_signal(SIGALRM, count_signal, 0);
    alarms_every(50000);
    FAILS(ask(IGNORE, &byte, 1, -1, NULL), EINTR, "POSIX I_STR: a signal ends the wait");
    ualarm(0, 0);
    EXPECT(ask(REVERSE, &byte, 1, 1, NULL), 1, "an ioctl after one that was interrupted");
}

static void lengths(void) {
    open_stream();
    static char data[262145];
    FAILS(ask(REVERSE, data, -1, 5, NULL), EINVAL, "POSIX I_STR: ic_len below 0");
    FAILS(ask(REVERSE, data, 262145, 5, NULL), EINVAL, "STREAMS 4.12: ic_len beyond strmsgsz");
    for (int at = 0; at < 100000; at++)
        data[at] = (char)(at % 101);
    int len = 0, wrong = 0;
    EXPECT(ask(REVERSE, data, 100000, 5, &len), 100000, "POSIX I_STR: many bytes");
    for (int at = 0; at < 100000; at++)
        wrong += data[at] != (char)((99999 - at) % 101);
    EXPECT(wrong, 0, "POSIX I_STR: every byte of the answer");
}

static void nonblocking_waits_too(void) {
    open_stream();
    set_nonblocking(stream, 1);
    char byte = 1;
    EXPECT(ask(REVERSE, &byte, 1, 5, NULL), 1, "POSIX I_STR: blocks whatever O_NONBLOCK is");
    FAILS(ask(IGNORE, &byte, 1, 1, NULL), ETIME, "POSIX I_STR: blocks whatever O_NONBLOCK is");
}

struct copy {
    char *from, *to;
    size_t len;
};

static void copies_in_and_out(void) {
    for (is_pipe = 0; is_pipe < 2; is_pipe++) {
        char from[] = "transparent", to[20] = "";
        struct copy copy = {from, to, 11};
        open_stream();
        EXPECT(ioctl(stream, COPY, &copy), 11, "STREAMS 4.12: M_COPYIN, M_COPYOUT, M_IOCDATA: the value");
        BYTES(to, strlen(to), "tnerapsnart", "STREAMS 4.12: bytes were copied in and out");
        copy.len = 0;
        EXPECT(ioctl(stream, COPY, &copy), 0, "STREAMS 4.12: a copy of no bytes");
    }
}

static void bad_addresses_of_copies(void) {
    char text[20] = "text";
    open_stream();
    struct copy copy = {text, text, 4};
    FAILS(ioctl(stream, COPY, (void *)bad_pointer), EFAULT, "STREAMS 4.1: the argument");
    copy.from = bad_pointer;
    FAILS(ioctl(stream, COPY, &copy), EFAULT, "STREAMS 4.1: where to copy from");
    copy.from = text;
    copy.to = bad_pointer;
    FAILS(ioctl(stream, COPY, &copy), EFAULT, "STREAMS 4.1: where to copy to");
    EXPECT(ask(FAILED_COPIES, text, 0, 5, NULL), 3, "DDI M_IOCDATA: the module is told of each");
    copy.to = text;
    EXPECT(ioctl(stream, COPY, &copy), 4, "the next ioctl succeeds");
}

static void callers_take_turns(void) {
    enum { CALLERS = 4, CALLS = 200 };
    is_pipe = 1;
    open_stream();
    pid_t children[CALLERS];
    for (int at = 0; at < CALLERS; at++)
        if ((children[at] = fork()) == 0) {
            for (int call = 0; call < CALLS; call++) {
                char data[4] = {'a', 'b', (char)at, (char)call};
                int len = 0;
                if (ask(REVERSE, data, 4, 15, &len) != 4 || len != 4 || data[0] != (char)call || data[1] != at)
                    _exit(1);
            }
            _exit(0);
        }
    for (int at = 0; at < CALLERS; at++)
        EXPECT(ended_within(children[at], 8000), 0, "POSIX I_STR: one is active at a time, others wait; each gets its own answer");
}

static void a_pipe_refuses_at_once(void) {
    int ends[2], value = 0;
    open_pipe(ends);
    long long start = now_ms();
    stream = ends[0];
    FAILS(ask(REVERSE, (char *)&value, 4, 15, NULL), EINVAL, "STREAMS 4.12: a pipe's far head NAKs at once");
    FAILS(ioctl(ends[0], COPY, &value), EINVAL, "STREAMS 4.12: transparent too");
    HOLDS(now_ms() - start < 1000, "STREAMS 4.12: at once");
}

static const struct test tests[] = {
    TEST(an_answer_with_data),
    TEST(refusals),
    TEST(time_outs),
    TEST(lengths),
    TEST(nonblocking_waits_too),
    TEST(copies_in_and_out),
    TEST(bad_addresses_of_copies),
    TEST_OF(callers_take_turns, 20),
    TEST(a_pipe_refuses_at_once),
};
MAIN(tests)

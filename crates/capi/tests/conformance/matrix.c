/* The error matrix of the stream head (STREAMS section 4): every operation on a stream after a hang-up, with a read error, with a
 * write error, with both, and linked under a multiplexer. The stream is an end of a pipe or a device, each with testmod pushed. */
#include "stream.h"

enum state { HUNG_UP, READ_ERROR, WRITE_ERROR, BOTH_ERRORS, LINKED, STATES };
static const char *const state_names[STATES] = {"after hang-up", "read error", "write error", "both errors", "linked"};

static int is_pipe;

/* Makes a stream in that state. Each cell gets its own. */
static int stream_in(enum state state) {
    int ends[2] = {-1, -1};
    if (is_pipe)
        open_pipe(ends);
    else
        ends[0] = open_device("echo");
    NEEDS(ioctl(ends[0], I_PUSH, "testmod") == 0, "I_PUSH of testmod succeeds");
    NEEDS(ioctl(ends[0], I_SETSIG, S_INPUT) == 0, "I_SETSIG succeeds");
    set_nonblocking(ends[0], 1);
    switch (state) {
    case HUNG_UP: request(ends[0], "hangup"); break;
    case READ_ERROR: request(ends[0], "error 71 255"); break;
    case WRITE_ERROR: request(ends[0], "error 255 71"); break;
    case BOTH_ERRORS: request(ends[0], "error 71 71"); break;
    default: {
        int mux = open_device("mux");
        NEEDS(ioctl(mux, I_LINK, ends[0]) > 0, "I_LINK succeeds and returns the id of the link");
    }
    }
    return ends[0];
}

static char buffer[4200], more[100];

static long do_read(int fd) { return read(fd, buffer, 100); }
static long do_readv(int fd) {
    struct iovec pieces[2] = {{buffer, 10}, {more, 10}};
    return readv(fd, pieces, 2);
}
/* Returns 0 only if both lengths are 0, as at the end of a stream. */
static long do_getmsg(int fd) {
    struct got *message = get_message(fd);
    errno = message->error;
    return message->value != 0 ? message->value : message->control.len != 0 || message->data.len != 0;
}
static long do_getpmsg(int fd) {
    struct got *message = get_from_band(fd, 0, MSG_ANY);
    errno = message->error;
    return message->value != 0 ? message->value : message->control.len != 0 || message->data.len != 0;
}
static long do_write(int fd) { return write(fd, "bytes", 5); }
static long do_writev(int fd) {
    struct iovec pieces[2] = {{buffer, 2}, {more, 3}};
    return writev(fd, pieces, 2);
}
static long do_putmsg(int fd) { return put_message(fd, NULL, "data", 0); }
static long do_putpmsg(int fd) { return put_in_band(fd, NULL, "data", 1); }
static long do_push(int fd) { return ioctl(fd, I_PUSH, "nullmod"); }
static long do_pop(int fd) { return ioctl(fd, I_POP, 0); }
static long do_str(int fd) {
    struct strioctl call = {.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 3, .ic_dp = more};
    return ioctl(fd, I_STR, &call);
}
static long do_flush(int fd) { return ioctl(fd, I_FLUSH, FLUSHRW); }
static long do_flushband(int fd) {
    struct bandinfo band = {.bi_pri = 1, .bi_flag = FLUSHRW};
    return ioctl(fd, I_FLUSHBAND, &band);
}
static long do_srdopt(int fd) { return ioctl(fd, I_SRDOPT, RMSGN); }
static long do_swropt(int fd) { return ioctl(fd, I_SWROPT, SNDZERO); }
static long do_canput(int fd) { return ioctl(fd, I_CANPUT, 0); }
static long do_peek(int fd) {
    struct strpeek peek = {.ctlbuf = {100, 0, buffer}, .databuf = {100, 0, more}, .flags = 0};
    return ioctl(fd, I_PEEK, &peek);
}
static long do_atmark(int fd) { return ioctl(fd, I_ATMARK, ANYMARK); }
static long do_ckband(int fd) { return ioctl(fd, I_CKBAND, 0); }
static long do_getband(int fd) {
    int band;
    return ioctl(fd, I_GETBAND, &band);
}
static long do_recvfd(int fd) {
    struct strrecvfd file;
    return ioctl(fd, I_RECVFD, &file);
}
static long do_look(int fd) { return ioctl(fd, I_LOOK, buffer); }
static long do_find(int fd) { return ioctl(fd, I_FIND, "testmod"); }
static long do_list(int fd) { return ioctl(fd, I_LIST, NULL); }
static long do_grdopt(int fd) {
    int options;
    return ioctl(fd, I_GRDOPT, &options);
}
static long do_gwropt(int fd) {
    int options;
    return ioctl(fd, I_GWROPT, &options);
}
static long do_setsig(int fd) { return ioctl(fd, I_SETSIG, S_INPUT | S_HIPRI); }
static long do_getsig(int fd) {
    int events;
    return ioctl(fd, I_GETSIG, &events);
}
static long do_setcltime(int fd) {
    int ms = 100;
    return ioctl(fd, I_SETCLTIME, &ms);
}
static long do_getcltime(int fd) {
    int ms;
    return ioctl(fd, I_GETCLTIME, &ms);
}

/* The expected result of a cell: a value if it is at least 0, else -errno. */
enum { OK = 10000 };

static const struct row {
    const char *name;
    long (*run)(int fd);
    int cells[STATES];
} rows[] = {
    {"read", do_read, {0, -EPROTO, -EAGAIN, -EPROTO, -EINVAL}},
    {"readv", do_readv, {0, -EPROTO, -EAGAIN, -EPROTO, -EINVAL}},
    {"getmsg", do_getmsg, {0, -EPROTO, -EAGAIN, -EPROTO, -EINVAL}},
    {"getpmsg", do_getpmsg, {0, -EPROTO, -EAGAIN, -EPROTO, -EINVAL}},
    {"write", do_write, {-ENXIO, 5, -EPROTO, -EPROTO, -EINVAL}},
    {"writev", do_writev, {-ENXIO, 5, -EPROTO, -EPROTO, -EINVAL}},
    {"putmsg", do_putmsg, {-ENXIO, 0, -EPROTO, -EPROTO, -EINVAL}},
    {"putpmsg", do_putpmsg, {-ENXIO, 0, -EPROTO, -EPROTO, -EINVAL}},
    {"I_PUSH", do_push, {-ENXIO, -EIO, -EIO, -EIO, -EINVAL}},
    {"I_POP", do_pop, {-ENXIO, -EIO, -EIO, -EIO, -EINVAL}},
    {"I_STR", do_str, {-ENXIO, -EPROTO, -EPROTO, -EPROTO, -EINVAL}},
    {"I_FLUSH", do_flush, {-ENXIO, -EPROTO, -EPROTO, -EPROTO, -EINVAL}},
    {"I_FLUSHBAND", do_flushband, {-ENXIO, -EPROTO, -EPROTO, -EPROTO, -EINVAL}},
    {"I_SRDOPT", do_srdopt, {0, -EPROTO, 0, -EPROTO, -EINVAL}},
    {"I_SWROPT", do_swropt, {-ENXIO, 0, -EPROTO, -EPROTO, -EINVAL}},
    {"I_CANPUT", do_canput, {-ENXIO, 1, -EPROTO, -EPROTO, -EINVAL}},
    {"I_PEEK", do_peek, {0, -EPROTO, 0, -EPROTO, -EINVAL}},
    {"I_ATMARK", do_atmark, {0, -EPROTO, 0, -EPROTO, -EINVAL}},
    {"I_CKBAND", do_ckband, {0, -EPROTO, 0, -EPROTO, -EINVAL}},
    {"I_GETBAND", do_getband, {-ENODATA, -EPROTO, -ENODATA, -EPROTO, -EINVAL}},
    {"I_RECVFD", do_recvfd, {-ENXIO, -EPROTO, -EAGAIN, -EPROTO, -EINVAL}},
    {"I_LOOK", do_look, {0, 0, 0, 0, -EINVAL}},
    {"I_FIND", do_find, {1, 1, 1, 1, -EINVAL}},
    {"I_LIST", do_list, {OK, OK, OK, OK, -EINVAL}},
    {"I_GRDOPT", do_grdopt, {0, 0, 0, 0, -EINVAL}},
    {"I_GWROPT", do_gwropt, {0, 0, 0, 0, -EINVAL}},
    {"I_SETSIG", do_setsig, {0, 0, 0, 0, -EINVAL}},
    {"I_GETSIG", do_getsig, {0, 0, 0, 0, -EINVAL}},
    {"I_SETCLTIME", do_setcltime, {0, 0, 0, 0, -EINVAL}},
    {"I_GETCLTIME", do_getcltime, {0, 0, 0, 0, -EINVAL}},
};

static void check_cell(const struct row *row, enum state state) {
    int fd = stream_in(state);
    int expected = row->cells[state];
    in_context("%s %s of a %s", row->name, state_names[state], is_pipe ? "pipe" : "device");
    errno = 0;
    signals_seen = 0;
    long seen = row->run(fd);
    int error = errno;
    counted();
    int right = expected == OK ? seen > 0 : expected >= 0 ? seen == expected : seen == -1 && error == -expected;
    if (!right)
        failed(__FILE__, __LINE__, "STREAMS 4: the table of the stream head", "expected %d %s, seen %ld %s", expected,
               expected < 0 ? strerrorname_np(-expected) : "", seen, error_name(seen, error));
    int is_write = strcmp(row->name, "write") == 0 || strcmp(row->name, "writev") == 0;
    if (state == HUNG_UP)
        EXPECT(signals_seen, 0, "STREAMS 4: a write after a hang-up raises no signal");
    else if (is_write && (state == WRITE_ERROR || state == BOTH_ERRORS))
        EXPECT(signals_seen, is_pipe, "STREAMS 4: a write error raises SIGPIPE if SNDPIPE is on, the default of a pipe");
    in_context("%s", "");
    close(fd);
}

static void check_column(enum state state, int pipe_is_wanted) {
    is_pipe = pipe_is_wanted;
    on_signal(SIGPIPE, count_signal, 0);
    for (size_t at = 0; at < COUNT(rows); at++)
        check_cell(&rows[at], state);
}

static void pipe_after_hangup(void) { check_column(HUNG_UP, 1); }
static void pipe_with_a_read_error(void) { check_column(READ_ERROR, 1); }
static void pipe_with_a_write_error(void) { check_column(WRITE_ERROR, 1); }
static void pipe_with_both_errors(void) { check_column(BOTH_ERRORS, 1); }
static void pipe_that_is_linked(void) { check_column(LINKED, 1); }
static void device_after_hangup(void) { check_column(HUNG_UP, 0); }
static void device_with_a_read_error(void) { check_column(READ_ERROR, 0); }
static void device_with_a_write_error(void) { check_column(WRITE_ERROR, 0); }
static void device_with_both_errors(void) { check_column(BOTH_ERRORS, 0); }
static void device_that_is_linked(void) { check_column(LINKED, 0); }

/* The row of poll, which reports events instead of errors. */
static void poll_in_every_state(void) {
    static const int expected[STATES] = {POLLHUP, POLLERR, POLLERR, POLLERR, POLLNVAL};
    for (is_pipe = 0; is_pipe < 2; is_pipe++)
        for (int state = 0; state < STATES; state++) {
            int fd = stream_in((enum state)state);
            in_context("poll %s of a %s", state_names[state], is_pipe ? "pipe" : "device");
            int seen = polled_for(fd, POLLIN | POLLPRI | POLLOUT | POLLRDBAND | POLLWRBAND);
            EXPECT(seen & (POLLHUP | POLLERR | POLLNVAL), expected[state], "STREAMS 4: the row of poll");
            EXPECT(polled_for(fd, 0) & (POLLHUP | POLLERR | POLLNVAL), expected[state], "POSIX poll: reported whether or not asked for");
            if (state == HUNG_UP)
                EXPECT(seen & (POLLOUT | POLLWRBAND), 0, "POSIX poll: POLLHUP and POLLOUT exclude each other");
            in_context("%s", "");
            close(fd);
        }
}

static void data_is_read_after_a_hangup(void) {
    for (is_pipe = 0; is_pipe < 2; is_pipe++) {
        int ends[2];
        char text[20];
        in_context("%s", is_pipe ? "pipe" : "device");
        if (is_pipe)
            open_pipe(ends);
        else
            ends[0] = ends[1] = open_device("echo");
        NEEDS(ioctl(ends[0], I_PUSH, "testmod") == 0, "I_PUSH of testmod succeeds");
        EXPECT(write(ends[1], "first", 5), 5, "write before the hang-up");
        /* testmod takes a control part that is written at its own end for a request to itself. */
        EXPECT(put_message(ends[1], NULL, "second", 0), 0, "putmsg before the hang-up");
        request(ends[0], "hangup");
        EXPECT(polled_for(ends[0], POLLIN), POLLIN | POLLHUP, "POSIX poll: POLLHUP and POLLIN do not exclude each other");
        EXPECT(read(ends[0], text, 5), 5, "STREAMS 4: queued data, then 0");
        get_message(ends[0]);
        PARTS(NULL, "second", "STREAMS 4: queued data after a hang-up");
        for (int again = 0; again < 3; again++) {
            EXPECT(read(ends[0], text, sizeof text), 0, "STREAMS 4: 0 after the data");
            get_message(ends[0]);
            EXPECT(got.value, 0, "POSIX getmsg: 0 after a hang-up without data");
            PARTS("", "", "POSIX getmsg: both lengths are 0 after a hang-up");
        }
    }
}

static void an_error_is_told_again_and_again(void) {
    is_pipe = 1;
    int fd = stream_in(READ_ERROR);
    for (int again = 0; again < 3; again++)
        FAILS(read(fd, buffer, 9), EPROTO, "STREAMS 4.13: an error without RERRNONPERSIST stays");
    request(fd, "error 0 255");
    FAILS(read(fd, buffer, 9), EAGAIN, "DDI M_ERROR: an errno of 0 clears the error");
}

static void an_error_wakes_sleepers(void) {
    int ends[2];
    open_pipe(ends);
    NEEDS(ioctl(ends[0], I_PUSH, "testmod") == 0, "I_PUSH of testmod succeeds");
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(100);
        request(ends[0], "error 71 71");
        _exit(0);
    }
    FAILS(read(ends[0], buffer, 9), EPROTO, "DDI M_ERROR: processes that sleep at the head are woken with the error");
    EXPECT(ended_within(child, 2000), 0, "the process that raised it ends");
}

static const struct test tests[] = {
    TEST_OF(pipe_after_hangup, 30),
    TEST_OF(pipe_with_a_read_error, 30),
    TEST_OF(pipe_with_a_write_error, 30),
    TEST_OF(pipe_with_both_errors, 30),
    TEST_OF(pipe_that_is_linked, 30),
    TEST_OF(device_after_hangup, 30),
    TEST_OF(device_with_a_read_error, 30),
    TEST_OF(device_with_a_write_error, 30),
    TEST_OF(device_with_both_errors, 30),
    TEST_OF(device_that_is_linked, 30),
    TEST(poll_in_every_state),
    TEST(data_is_read_after_a_hangup),
    TEST(an_error_is_told_again_and_again),
    TEST(an_error_wakes_sleepers),
};
MAIN(tests)

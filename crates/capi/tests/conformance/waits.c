/* poll, ppoll, select, pselect and epoll (level, edge, one-shot, exclusive) on a stream pipe and on the kernel's pipe, which is
 * measured in the same test. Both are brought into each state, and each call is made at both ends. Where STREAMS requires another
 * answer, `as_a_stream` has it and the reason. The states that no kernel pipe has are in `states_without_a_kernel_pipe`. */
#include "stream.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum state { NOTHING, DATA, FULL, ROOM_AGAIN, READER_GONE, READER_GONE_FULL, WRITER_GONE, WRITER_GONE_DATA, STATES };
static const char *const state_names[STATES] = {
    "nothing",     "data",        "full", "room again", "reader gone", "reader gone while full",
    "writer gone", "writer gone, data unread",
};

/* When and by which process a state is brought about: before the call, by this process or by a child's exit; or while the call
 * waits. */
enum cause { BEFORE, BY_EXIT, DURING, CAUSES };
static const char *const cause_names[CAUSES] = {"before the call", "by exit before the call", "during the call"};

enum way { POLL, PPOLL, SELECT, PSELECT, LEVEL, EDGE, ONE_SHOT, EXCLUSIVE, WAYS };
static const char *const way_names[WAYS] = {"poll", "ppoll", "select", "pselect", "epoll", "EPOLLET", "EPOLLONESHOT",
                                            "EPOLLEXCLUSIVE"};

enum kind { KERNEL, STREAM, FIFO, KINDS };
static const char *const kind_names[KINDS] = {"pipe of the kernel", "pipe", "FIFO"};
enum end { READER, WRITER };

/* The events that are asked for at the reader's end and at the writer's end. A set of select has the event of the same name. */
static const int masks[2][5] = {
    {POLLIN, POLLIN | POLLRDNORM, POLLPRI, 0, POLLIN | POLLOUT},
    {POLLOUT, POLLOUT | POLLWRNORM, POLLPRI, 0, POLLIN | POLLOUT},
};
enum { MASKS = COUNT(masks[0]) };

/* When the event of `DURING` happens; and the longest wait for a call that the event ends, and for one that it does not end. */
enum { EVENT_MS = 40, WAIT_MS = 8000, VAIN_MS = 300 };

/* The child that causes an event `DURING` a call is told by this descriptor that the call begins; -1 if there is no child. */
static int begin_event = -1;

/* Waits in the child until the call begins, and some time more. */
static void await_begin(int begin) {
    eventfd_t value;
    NEEDS(eventfd_read(begin, &value) == 0, "eventfd_read");
    sleep_ms(EVENT_MS);
}

static void begin_call(void) {
    if (begin_event >= 0) {
        NEEDS(eventfd_write(begin_event, 1) == 0, "eventfd_write");
        close(begin_event);
    }
    begin_event = -1;
}

static void open_fifo(int ends[2]) {
    char path[60] = "/tmp/conformance-XXXXXX";
    NEEDS(mkdtemp(path) != NULL, "mkdtemp");
    strcat(path, "/fifo");
    NEEDS(mkfifo(path, 0600) == 0, "mkfifo");
    ends[READER] = open(path, O_RDONLY | O_NONBLOCK);
    ends[WRITER] = open(path, O_WRONLY);
    NEEDS(isastream(ends[READER]) == 1 && isastream(ends[WRITER]) == 1, "a STREAMS FIFO");
    set_nonblocking(ends[READER], 0);
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
}

static void open_kind(enum kind kind, int ends[2]) {
    if (kind == STREAM)
        open_pipe(ends);
    else if (kind == FIFO)
        open_fifo(ends);
    else
        NEEDS(syscall(SYS_pipe2, ends, 0) == 0 && isastream(ends[0]) == 0, "a pipe of the kernel");
}

/* Reads until nothing is left. */
static long drain_end(int fd) {
    static char bytes[1 << 16];
    long sum = 0;
    ssize_t count;
    set_nonblocking(fd, 1);
    while ((count = read(fd, bytes, sizeof bytes)) > 0)
        sum += count;
    set_nonblocking(fd, 0);
    return sum;
}

static int is_gone(enum state state) { return state >= READER_GONE; }

/* Returns the end that is closed in this state. */
static enum end gone_end(enum state state) { return state >= WRITER_GONE ? WRITER : READER; }

static void prepare_state(enum state state, int ends[2]) {
    if (state == FULL || state == ROOM_AGAIN || state == READER_GONE_FULL)
        fill(ends[WRITER]);
    if (state == WRITER_GONE_DATA)
        NEEDS(write(ends[WRITER], "data", 4) == 4, "write");
}

/* Brings the state about, unless it is that an end is closed. */
static void cause_state(enum state state, int ends[2]) {
    if (state == DATA)
        NEEDS(write(ends[WRITER], "data", 4) == 4, "write");
    /* A read that does not wait may fail, because the other process looks at the stream at the same time. */
    while (state == ROOM_AGAIN && polled_for(ends[READER], POLLIN))
        drain_end(ends[READER]);
}

/* Brings a pipe into a state. Returns the child that does it later, or 0. */
static pid_t enter(enum state state, enum cause cause, int ends[2]) {
    prepare_state(state, ends);
    if (cause == BEFORE) {
        cause_state(state, ends);
        if (is_gone(state))
            close(ends[gone_end(state)]);
        return 0;
    }
    begin_event = cause == DURING ? eventfd(0, 0) : -1;
    pid_t child = fork();
    if (child == 0) {
        if (is_gone(state))
            close(ends[!gone_end(state)]);
        if (cause == DURING)
            await_begin(begin_event);
        cause_state(state, ends);
        _exit(0);
    }
    if (is_gone(state))
        close(ends[gone_end(state)]);
    if (cause == BY_EXIT)
        waitpid(child, NULL, 0);
    return child;
}

/* Returns the events of the call, or minus the errno. Of select's sets, POLLIN, POLLOUT and POLLPRI stand for a bit in each. A
 * call with EPOLLET that waits for a later event has taken the edge of the events before. */
static int look(enum way way, int fd, int events, int ms) {
    struct pollfd one = {.fd = fd, .events = (short)events};
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    struct timeval select_time = {ms / 1000, ms % 1000 * 1000};
    if (way < LEVEL)
        begin_call();
    switch (way) {
    case POLL: return poll(&one, 1, ms) < 0 ? -errno : one.revents;
    case PPOLL: return ppoll(&one, 1, &time, NULL) < 0 ? -errno : one.revents;
    case SELECT:
    case PSELECT: {
        static const int events_of[3] = {POLLIN, POLLOUT, POLLPRI};
        fd_set sets[3];
        fd_set *asked[3];
        for (int set = 0; set < 3; set++) {
            FD_ZERO(&sets[set]);
            asked[set] = events & events_of[set] ? &sets[set] : NULL;
            if (asked[set])
                FD_SET(fd, asked[set]);
        }
        int count = way == SELECT ? select(fd + 1, asked[0], asked[1], asked[2], &select_time)
                                  : pselect(fd + 1, asked[0], asked[1], asked[2], &time, NULL);
        int seen = 0, bits = 0;
        for (int set = 0; set < 3; set++)
            if (asked[set] && FD_ISSET(fd, asked[set])) {
                seen |= events_of[set];
                bits++;
            }
        HOLDS(count < 0 || count == bits, "POSIX select: the value is the number of bits");
        return count < 0 ? -errno : seen;
    }
    default: {
        static const uint32_t flags[WAYS] = {
            [EDGE] = EPOLLET, [ONE_SHOT] = EPOLLONESHOT, [EXCLUSIVE] = EPOLLEXCLUSIVE};
        struct epoll_event event = {.events = (uint32_t)events | flags[way]};
        int set = epoll_create1(EPOLL_CLOEXEC);
        NEEDS(set >= 0, "epoll_create1");
        int value = epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
        uint32_t before = 0;
        if (value == 0 && way == EDGE && ms > 0 && epoll_wait(set, &event, 1, 0) == 1)
            before = event.events;
        begin_call();
        /* A stream may report an edge of room again that it has reported before (libheadwater(7)). */
        do
            if (value >= 0)
                value = epoll_wait(set, &event, 1, ms);
        while (value == 1 && before & EPOLLOUT && event.events == before);
        int seen = value < 0 ? -errno : value == 0 ? 0 : (int)event.events;
        close(set);
        return seen;
    }
    }
}

/* Returns what the end of a stream answers where the kernel's pipe answers `kernel`. */
static int as_a_stream(enum kind kind, enum state state, enum way way, enum end end, int events, int kernel) {
    if (kernel < 0)
        return kernel;
    int is_select = way == SELECT || way == PSELECT;
    int peer_gone = is_gone(state) && gone_end(state) != end;
    /* STREAMS 4: if the other end of a pipe is closed, the event is POLLHUP, which excludes POLLOUT (POSIX poll). The kernel's
     * writer gets POLLERR. */
    if (peer_gone && end == WRITER && !is_select)
        kernel = (kernel & ~(POLLERR | POLLOUT | POLLWRNORM)) | POLLHUP;
    /* A STREAMS pipe is full duplex: its reader's end can be written. For select, a write that fails at once does not block. */
    if (kind == STREAM && end == READER && events & POLLOUT && (is_select || !peer_gone))
        kernel |= POLLOUT;
    /* A write at the reader's end of a FIFO does not block either (EBADF): after a hang-up select reports that, too. */
    if (kind == FIFO && end == READER && events & POLLOUT && is_select && peer_gone)
        kernel |= POLLOUT;
    return kernel;
}

/* Checks that the event ends the wait, or else only the time-out. */
static void check_time(int ms, int seen, long long took) {
    if (seen > 0)
        HOLDS(ms == 0 || took < ms - 50, "the event ends the wait, and not the time-out");
    else if (seen == 0)
        HOLDS(took >= ms - 5, "what is not asked for ends no wait");
}

/* The answer of one kind of pipe. */
static int answer(enum kind kind, enum state state, enum cause cause, enum way way, enum end end, int events, int ms) {
    int ends[2];
    open_kind(kind, ends);
    pid_t child = enter(state, cause, ends);
    long long start = now_ms();
    int seen = look(way, ends[end], events, ms);
    check_time(ms, seen, now_ms() - start);
    close(ends[end]);
    if (!is_gone(state))
        close(ends[!end]);
    if (child && cause == DURING)
        EXPECT(ended_within(child, 5000), 0, "the child ends");
    return seen;
}

/* Returns what the kernel's pipe answers before the state is brought about. */
static int answer_before(enum state state, enum way way, enum end end, int events) {
    int ends[2];
    open_kind(KERNEL, ends);
    prepare_state(state, ends);
    int seen = look(way, ends[end], events, 0);
    close(ends[0]);
    close(ends[1]);
    return seen;
}

/* Returns whether the call returns before the event of the state. The reader's end of a stream can write, so it may return where
 * the kernel's does not. */
static int is_ready_before(enum kind kind, enum state state, enum way way, enum end end, int events) {
    int is_duplex = kind == STREAM && end == READER && events & POLLOUT;
    if (way == EDGE)
        return is_duplex && !is_gone(state);
    return is_duplex || answer_before(state, way, end, events) != 0;
}

/* Returns whether bringing the state about ends the call. */
static int is_event(enum state state, enum way way, enum end end, int events) {
    return answer(KERNEL, state, BEFORE, way, end, events, 0) != answer_before(state, way, end, events);
}

static void compare(enum kind kind, enum state state, enum cause cause, enum way way, enum end end, int events) {
    in_context("%s: %s %s, %s at the %s, events %#x", kind_names[kind], state_names[state], cause_names[cause], way_names[way],
               end == READER ? "reader" : "writer", (unsigned)events);
    int ms = cause != DURING ? 0 : is_event(state, way, end, events) ? WAIT_MS : VAIN_MS;
    int kernel = answer(KERNEL, state, cause, way, end, events, ms);
    EXPECT(answer(kind, state, cause, way, end, events, ms), as_a_stream(kind, state, way, end, events, kernel),
           "the kernel's pipe answers so");
    in_context("%s", "");
}

/* Compares all calls at all ends in all states. */
static void compare_all(enum kind kind, enum cause cause) {
    signal(SIGPIPE, SIG_IGN);
    for (enum state state = 0; state < STATES; state++)
        for (int end = 0; end < 2; end++) {
            /* A closed end is not looked at. In these states, no wait at a kernel's pipe is for what comes. */
            if ((is_gone(state) && gone_end(state) == (enum end)end) || (cause == DURING && (state == NOTHING || state == FULL)))
                continue;
            for (enum way way = 0; way < WAYS; way++)
                for (int mask = 0; mask < MASKS; mask++) {
                    int events = masks[end][mask];
                    int is_select = way == SELECT || way == PSELECT;
                    if (is_select && (events == 0 || events & (POLLRDNORM | POLLWRNORM)))
                        continue;
                    if (cause == DURING && is_ready_before(kind, state, way, (enum end)end, events))
                        continue;
                    /* Cells that wait do so at the same time. */
                    if (cause == DURING && fork() != 0)
                        continue;
                    compare(kind, state, cause, way, (enum end)end, events);
                    if (cause == DURING)
                        _exit(0);
                }
            while (cause == DURING && wait(NULL) > 0)
                ;
        }
}

static void states_from_before(void) { compare_all(STREAM, BEFORE); }
static void states_by_a_childs_exit(void) { compare_all(STREAM, BY_EXIT); }
static void events_during_the_wait(void) { compare_all(STREAM, DURING); }
static void states_of_a_fifo(void) { compare_all(FIFO, BEFORE); }
static void states_of_a_fifo_by_a_childs_exit(void) { compare_all(FIFO, BY_EXIT); }
static void events_at_a_fifo_during_the_wait(void) { compare_all(FIFO, DURING); }

/* The state that a module raises at an end (STREAMS 4). A hang-up and a write error exclude writing; data that are there can be
 * read. */
static const struct raised {
    const char *request;
    int always, is_writable;
} raised[] = {
    {"hangup", POLLHUP, 0},
    {"error 71 255", POLLERR, 1},
    {"error 255 71", POLLERR, 0},
    {"error 71 71", POLLERR, 0},
};

/* Returns what is reported in such a state; NULL if it is the same as without. */
static int events_in(const struct raised *state, int has_data, enum way way, int events) {
    int always = state ? state->always : 0;
    int seen = (has_data ? POLLIN | POLLRDNORM : 0) | (!state || state->is_writable ? POLLOUT | POLLWRNORM : 0);
    /* POSIX select: a call that fails at once does not block. */
    if (way == SELECT || way == PSELECT)
        return events & (seen | (always ? POLLIN | POLLOUT : 0));
    return (events & seen) | always;
}

static void check_raised(const struct raised *state, int has_data, enum cause cause, enum way way, int events) {
    in_context("%s %s, %s data, %s, events %#x", state->request, cause_names[cause], has_data ? "with" : "without", way_names[way],
               (unsigned)events);
    open_ends();
    NEEDS(ioctl(near, I_PUSH, "testmod") == 0, "I_PUSH");
    NEEDS(!has_data || write(far, "data", 4) == 4, "write");
    begin_event = cause == DURING ? eventfd(0, 0) : -1;
    pid_t child = cause == BEFORE ? 0 : fork();
    if (cause == BEFORE)
        request(near, state->request);
    else if (child == 0) {
        if (cause == DURING)
            await_begin(begin_event);
        request(near, state->request);
        _exit(0);
    }
    if (cause == BY_EXIT)
        EXPECT(ended_within(child, 5000), 0, "the child ends");
    long long start = now_ms();
    int expected = events_in(state, has_data, way, events), before = events_in(NULL, has_data, way, events);
    int ms = cause != DURING ? 0 : expected != before ? WAIT_MS : VAIN_MS;
    int seen = look(way, near, events, ms);
    check_time(ms, seen, now_ms() - start);
    int is_refused = way == EXCLUSIVE && events & ~(POLLIN | POLLOUT);
    EXPECT(seen, is_refused ? -EINVAL : expected, "STREAMS 4: poll");
    if (cause == DURING)
        EXPECT(ended_within(child, 5000), 0, "the child ends");
    close(near);
    close(far);
}

static void states_without_a_kernel_pipe(void) {
    for (enum cause cause = 0; cause < CAUSES; cause++)
        for (size_t at = 0; at < COUNT(raised); at++) {
            for (int row = 0; row < 2 * WAYS * MASKS; row++) {
                enum way way = (enum way)(row / 2 / MASKS);
                int has_data = row % 2, events = masks[WRITER][row / 2 % MASKS];
                int is_select = way == SELECT || way == PSELECT;
                if (is_select && (events == 0 || events & POLLWRNORM))
                    continue;
                int before = way == EDGE ? 0 : events_in(NULL, has_data, way, events);
                if (cause == DURING && (before || (way == EXCLUSIVE && events & ~(POLLIN | POLLOUT))))
                    continue;
                if (cause == DURING && fork() != 0)
                    continue;
                check_raised(&raised[at], has_data, cause, way, events);
                if (cause == DURING)
                    _exit(0);
            }
            while (cause == DURING && wait(NULL) > 0)
                ;
        }
}

/* The events at a pipe, one letter each, with epoll_wait after each. w: a byte is written; r: a byte is read; a: all is read
 * until EAGAIN; f: the pipe is filled; c: the other end is closed. */
static void happen(char what, int ends[2], enum end looked_at) {
    char byte;
    switch (what) {
    case 'w': NEEDS(write(ends[WRITER], "x", 1) == 1, "write"); break;
    case 'r':
        set_nonblocking(ends[READER], 1);
        NEEDS(read(ends[READER], &byte, 1) >= 0 || errno == EAGAIN, "read");
        break;
    case 'a': drain_end(ends[READER]); break;
    case 'f': fill(ends[WRITER]); break;
    default: close(ends[!looked_at]);
    }
}

/* Returns the events after each letter. */
static void history(enum kind kind, const char *letters, enum end end, uint32_t events, int *seen) {
    int ends[2], set = epoll_create1(EPOLL_CLOEXEC);
    open_kind(kind, ends);
    struct epoll_event event = {.events = events};
    NEEDS(epoll_ctl(set, EPOLL_CTL_ADD, ends[end], &event) == 0, "EPOLL_CTL_ADD");
    int is_closed = 0;
    for (const char *at = letters;; at++) {
        int count = epoll_wait(set, &event, 1, 0);
        *seen++ = count > 0 ? (int)event.events : 0;
        if (*at == 0)
            break;
        happen(*at, ends, end);
        is_closed |= *at == 'c';
        event.events = events;
        if (events & EPOLLONESHOT)
            NEEDS(epoll_ctl(set, EPOLL_CTL_MOD, ends[end], &event) == 0, "EPOLL_CTL_MOD");
    }
    close(set);
    close(ends[end]);
    if (!is_closed)
        close(ends[!end]);
}

/* Compares every history of at most `depth` letters at one end. */
static void compare_histories(const char *alphabet, int depth, enum end end, uint32_t events) {
    char letters[8] = "";
    for (;;) {
        /* The next history, in the order of a tree. Nothing is written or closed after the close. */
        size_t len = strlen(letters);
        if (len < (size_t)depth)
            letters[len] = alphabet[0];
        else {
            while (len > 0 && letters[len - 1] == alphabet[strlen(alphabet) - 1])
                letters[--len] = 0;
            if (len == 0)
                return;
            letters[len - 1] = strchr(alphabet, letters[len - 1])[1];
        }
        const char *closed = strchr(letters, 'c');
        if (closed && strcspn(closed + 1, end == READER ? "wc" : "fac") != strlen(closed + 1))
            continue;
        int kernel[8], stream[8];
        history(KERNEL, letters, end, events, kernel);
        history(STREAM, letters, end, events, stream);
        for (size_t at = 0; at <= strlen(letters); at++) {
            int expected = kernel[at];
            if (end == WRITER && expected & POLLERR)
                expected = as_a_stream(STREAM, READER_GONE, LEVEL, end, POLLOUT, expected);
            in_context("%s at the %s, events %#x, after letter %zu", letters, end == READER ? "reader" : "writer", events, at);
            EXPECT(stream[at], expected, "epoll(7): the same events as at the kernel's pipe");
        }
        in_context("%s", "");
    }
}

/* FIONREAD returns the count of all bytes that can be read, in whatever messages they are. */
static void bytes_that_can_be_read(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        int ends[2], value = -1;
        in_context("%s", kind_names[kind]);
        open_kind(kind, ends);
        EXPECT(ioctl(ends[READER], FIONREAD, &value), 0, "ioctl_tty(2) FIONREAD");
        EXPECT(value, 0, "FIONREAD of an empty pipe");
        EXPECT(write(ends[WRITER], "12345", 5), 5, "write");
        EXPECT(write(ends[WRITER], "678", 3), 3, "write");
        if (kind != KERNEL)
            EXPECT(put_message(ends[WRITER], NULL, "90", 0), 0, "putmsg");
        else
            EXPECT(write(ends[WRITER], "90", 2), 2, "write");
        EXPECT(ioctl(ends[READER], FIONREAD, &value), 0, "ioctl_tty(2) FIONREAD");
        EXPECT(value, 10, "FIONREAD: the bytes of all messages");
        EXPECT(read(ends[READER], got.data_bytes, 6), 6, "read");
        EXPECT(ioctl(ends[READER], FIONREAD, &value), 0, "ioctl_tty(2) FIONREAD");
        EXPECT(value, 4, "FIONREAD: what is left");
        close(ends[WRITER]);
        EXPECT(ioctl(ends[READER], FIONREAD, &value), 0, "ioctl_tty(2) FIONREAD");
        EXPECT(value, 4, "FIONREAD after the writer has gone");
        close(ends[READER]);
        in_context("%s", "");
    }
    open_ends();
    int value;
    EXPECT(put_message(near, NULL, "first", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "next", 0), 0, "putmsg");
    EXPECT(ioctl(far, I_NREAD, &value), 2, "SVR4 I_NREAD: the number of messages");
    EXPECT(value, 5, "SVR4 I_NREAD: the data of the first one");
}

static const uint32_t histories[] = {0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT};

static void histories_at_the_reader(void) {
    for (size_t at = 0; at < COUNT(histories); at++)
        compare_histories("wrac", 5, READER, EPOLLIN | histories[at]);
}

static void histories_at_the_writer(void) {
    signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; at < COUNT(histories); at++)
        compare_histories("fac", 4, WRITER, EPOLLOUT | histories[at]);
}

static const struct test tests[] = {
    TEST_OF(states_from_before, 60),
    TEST_OF(states_by_a_childs_exit, 60),
    TEST_OF(events_during_the_wait, 120),
    TEST_OF(states_of_a_fifo, 60),
    TEST_OF(states_of_a_fifo_by_a_childs_exit, 60),
    TEST_OF(events_at_a_fifo_during_the_wait, 120),
    TEST_OF(states_without_a_kernel_pipe, 60),
    TEST(bytes_that_can_be_read),
    TEST_OF(histories_at_the_reader, 60),
    TEST_OF(histories_at_the_writer, 60),
};

int main(int argc, char **argv) {
    /* The variable is set for a new start of the program, because the library reads it when it is loaded. */
    if (getenv("HEADWATER_FIFO") == NULL) {
        setenv("HEADWATER_FIFO", "1", 1);
        execv("/proc/self/exe", argv);
    }
    return run_tests(argc, argv, tests, COUNT(tests));
}

/* What tests of streams need often: pipes, devices, messages. */
#ifndef STREAM_H
#define STREAM_H
#include "check.h"

/* Makes a STREAMS pipe. */
MAY_BE_UNUSED static void open_pipe(int ends[2]) {
    NEEDS(pipe(ends) == 0, "pipe succeeds");
    NEEDS(isastream(ends[0]) == 1 && isastream(ends[1]) == 1, "POSIX isastream: 1 for both ends of a STREAMS pipe");
}

/* The ends of the test's pipe. */
MAY_BE_UNUSED static int near, far;

MAY_BE_UNUSED static void open_ends(void) {
    int ends[2];
    open_pipe(ends);
    near = ends[0];
    far = ends[1];
}

/* Opens a new stream of a driver. */
MAY_BE_UNUSED static int open_device(const char *driver) {
    char path[100];
    snprintf(path, sizeof path, "/dev/streams/clone/%s", driver);
    int fd = open(path, O_RDWR);
    in_context("%s", path);
    NEEDS(fd >= 0, "open of a clone device succeeds");
    NEEDS(isastream(fd) == 1, "POSIX isastream: 1 for a device");
    in_context("%s", "");
    return fd;
}

MAY_BE_UNUSED static void set_nonblocking(int fd, int on) {
    int flags = fcntl(fd, F_GETFL);
    NEEDS(flags != -1 && fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0, "F_SETFL succeeds");
}

/* Returns a part to be sent; NULL makes none. */
MAY_BE_UNUSED static struct strbuf part(const char *text) {
    return (struct strbuf){.maxlen = 0, .len = text ? (int)strlen(text) : -1, .buf = (char *)(uintptr_t)text};
}

/* Returns a part to be received. */
MAY_BE_UNUSED static struct strbuf room(char *buffer, int len) {
    return (struct strbuf){.maxlen = len, .len = -7, .buf = buffer};
}

MAY_BE_UNUSED static int put_message(int fd, const char *control, const char *data, int flags) {
    struct strbuf parts[2] = {part(control), part(data)};
    return putmsg(fd, control ? &parts[0] : NULL, data ? &parts[1] : NULL, flags);
}

MAY_BE_UNUSED static int put_in_band(int fd, const char *control, const char *data, int band) {
    struct strbuf parts[2] = {part(control), part(data)};
    return putpmsg(fd, control ? &parts[0] : NULL, data ? &parts[1] : NULL, band, MSG_BAND);
}

/* Sends a request to a pushed testmod: "hangup", "error R W", "signal N", "flush R W", "proto TEXT", ... */
MAY_BE_UNUSED static void request(int fd, const char *words) {
    NEEDS(put_message(fd, words, NULL, 0) == 0, "testmod takes requests");
}

/* A received message. */
struct got {
    int value, error, flags, band;
    struct strbuf control, data;
    char control_bytes[4100], data_bytes[70000];
};

/* The message that was received last. Only one thread of the process uses these functions. */
static struct got got;

MAY_BE_UNUSED static struct got *get_with(int fd, int control_room, int data_room, int flags) {
    got.control = room(got.control_bytes, control_room);
    got.data = room(got.data_bytes, data_room);
    got.flags = flags;
    errno = 0;
    got.value = getmsg(fd, &got.control, &got.data, &got.flags);
    got.error = errno;
    return &got;
}

MAY_BE_UNUSED static struct got *get_message(int fd) {
    return get_with(fd, sizeof got.control_bytes, sizeof got.data_bytes, 0);
}

MAY_BE_UNUSED static struct got *get_from_band(int fd, int band, int flags) {
    got.control = room(got.control_bytes, sizeof got.control_bytes);
    got.data = room(got.data_bytes, sizeof got.data_bytes);
    got.flags = flags;
    got.band = band;
    errno = 0;
    got.value = getpmsg(fd, &got.control, &got.data, &got.band, &got.flags);
    got.error = errno;
    return &got;
}

/* Checks the parts of the message that was received last; NULL means an absent part. */
#define PARTS(control_text, data_text, rule) check_parts(__FILE__, __LINE__, control_text, data_text, rule)

static inline void check_part(const char *file, int line, const char *name, const struct strbuf *seen, const char *expected,
                              const char *rule) {
    counted();
    int len = expected ? (int)strlen(expected) : -1;
    if (seen->len != len || (len > 0 && memcmp(seen->buf, expected, (size_t)len) != 0))
        failed(file, line, rule, "%s part: expected len %d \"%s\", seen len %d \"%.*s\"", name, len, expected ? expected : "",
               seen->len, seen->len > 0 ? seen->len : 0, seen->len > 0 ? seen->buf : "");
}

static inline void check_parts(const char *file, int line, const char *control, const char *data, const char *rule) {
    counted();
    if (got.value < 0) {
        failed(file, line, rule, "expected a message, seen %d %s", got.value, strerrorname_np(got.error));
        return;
    }
    check_part(file, line, "control", &got.control, control, rule);
    check_part(file, line, "data", &got.data, data, rule);
}

/* Reads until n bytes, the end or an error. */
MAY_BE_UNUSED static ssize_t read_all(int fd, void *buffer, size_t len) {
    size_t done = 0;
    while (done < len) {
        ssize_t count = read(fd, (char *)buffer + done, len - done);
        if (count <= 0)
            return done ? (ssize_t)done : count;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

MAY_BE_UNUSED static ssize_t write_all(int fd, const void *buffer, size_t len) {
    size_t done = 0;
    while (done < len) {
        ssize_t count = write(fd, (const char *)buffer + done, len - done);
        if (count <= 0)
            return done ? (ssize_t)done : count;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

/* Writes until there is no room. Returns the count of bytes. The descriptor is left as it was. */
MAY_BE_UNUSED static long fill(int fd) {
    static char bytes[4096];
    int flags = fcntl(fd, F_GETFL);
    long sum = 0;
    ssize_t count;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while ((count = write(fd, bytes, sizeof bytes)) > 0)
        sum += count;
    HOLDS(count == -1 && errno == EAGAIN, "POSIX write: EAGAIN when flow control stops a non-blocking write");
    fcntl(fd, F_SETFL, flags);
    return sum;
}

/* Counts signals. */
/* Sets an alarm that repeats until `ualarm(0, 0)`: on a loaded machine the first one may come before the call that it should
 * interrupt. */
static void MAY_BE_UNUSED alarms_every(useconds_t time_us) {
    ualarm(time_us, time_us);
}

static volatile sig_atomic_t signals_seen;

MAY_BE_UNUSED static void count_signal(int number) {
    (void)number;
    signals_seen++;
}

MAY_BE_UNUSED static void on_signal(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    NEEDS(sigaction(number, &action, NULL) == 0, "sigaction succeeds");
}

/* Returns what poll reports at once. */
MAY_BE_UNUSED static int polled_for(int fd, int events) {
    struct pollfd one = {.fd = fd, .events = (short)events, .revents = -1};
    int count = poll(&one, 1, 0);
    if (count < 0)
        return -1;
    HOLDS(count == (one.revents != 0), "POSIX poll: the value is the number of descriptors with revents");
    return one.revents;
}
#endif

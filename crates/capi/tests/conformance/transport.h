/* What tests of XTI need often: endpoints, their errors, connections. */
#ifndef TRANSPORT_H
#define TRANSPORT_H
#include "stream.h"
#include <xti.h>

/* Checks that a call returns -1 with this t_errno. */
#define REFUSED(call, error, rule) \
    check_refused(__FILE__, __LINE__, rule, #call, (t_errno = 0, errno = 0, (long long)(call)), error, 0)
/* Checks that a call fails with TSYSERR and this errno. */
#define SYSTEM(call, number, rule) \
    check_refused(__FILE__, __LINE__, rule, #call, (t_errno = 0, errno = 0, (long long)(call)), TSYSERR, number)

MAY_BE_UNUSED static int check_refused(const char *file, int line, const char *rule, const char *text, long long seen, int error,
                                       int number) {
    int got = t_errno, system = errno;
    counted();
    if (seen == -1 && got == error && (number == 0 || system == number))
        return 1;
    return failed(file, line, rule, "%s: expected \"%s\" %s, seen %lld \"%s\" %s", text, t_strerror(error),
                  number ? strerrorname_np(number) : "", seen, t_strerror(got), error_name(-1, system));
}

/* Checks that a call succeeds. */
#define DOES(call, rule) check_done(__FILE__, __LINE__, rule, #call, (t_errno = 0, (long long)(call)))

MAY_BE_UNUSED static int check_done(const char *file, int line, const char *rule, const char *text, long long seen) {
    counted();
    return seen >= 0 ? 1 : failed(file, line, rule, "%s: expected success, seen \"%s\" %s", text, t_strerror(t_errno), error_name(-1, errno));
}

MAY_BE_UNUSED static int open_transport(const char *transport, int flags) {
    char path[100];
    snprintf(path, sizeof path, "/dev/%s", transport);
    int fd = t_open(path, O_RDWR | flags, NULL);
    NEEDS(fd >= 0, "t_open succeeds");
    return fd;
}

/* Returns a buffer that contains that text. */
MAY_BE_UNUSED static struct netbuf text_of(const char *text) {
    return (struct netbuf){.maxlen = (unsigned)strlen(text), .len = (unsigned)strlen(text), .buf = (void *)(uintptr_t)text};
}

MAY_BE_UNUSED static struct netbuf room_of(void *buffer, size_t len) {
    return (struct netbuf){.maxlen = (unsigned)len, .len = 77, .buf = buffer};
}

MAY_BE_UNUSED static int bind_to(int fd, const char *address, unsigned waiting) {
    struct t_bind request = {.addr = text_of(address), .qlen = waiting};
    return t_bind(fd, &request, NULL);
}

MAY_BE_UNUSED static int bound(const char *transport, const char *address, unsigned waiting) {
    int fd = open_transport(transport, 0);
    NEEDS(bind_to(fd, address, waiting) == 0, "t_bind succeeds");
    return fd;
}

MAY_BE_UNUSED static int connect_to(int fd, const char *address) {
    struct t_call call = {.addr = text_of(address)};
    return t_connect(fd, &call, NULL);
}

/* Waits for an event. Returns whether it came in time. */
MAY_BE_UNUSED static int event_within(int fd, int event, int ms) {
    long long end = now_ms() + ms;
    while (t_look(fd) != event)
        if (now_ms() > end)
            return 0;
        else
            sleep_ms(1);
    return 1;
}

/* Connects two endpoints: near asks, far accepts. Returns the listener. */
MAY_BE_UNUSED static int connected(const char *transport, int *near, int *far) {
    int listener = bound(transport, "listener", 2);
    *near = bound(transport, "near", 0);
    *far = bound(transport, "far", 0);
    set_nonblocking(*near, 1);
    NEEDS(connect_to(*near, "listener") == -1 && t_errno == TNODATA, "XNS t_connect: TNODATA without waiting");
    struct t_call call = {.sequence = 0};
    NEEDS(t_listen(listener, &call) == 0 && t_accept(listener, *far, &call) == 0, "t_listen and t_accept succeed");
    NEEDS(event_within(*near, T_CONNECT, 5000) && t_rcvconnect(*near, NULL) == 0, "t_rcvconnect succeeds");
    set_nonblocking(*near, 0);
    return listener;
}

MAY_BE_UNUSED static int send_to(int fd, const char *address, const char *text) {
    struct t_unitdata datagram = {.addr = text_of(address), .udata = text_of(text)};
    return t_sndudata(fd, &datagram);
}
#endif

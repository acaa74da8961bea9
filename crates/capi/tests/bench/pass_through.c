/* Measures what the library adds to a call on a descriptor that is no stream: nanoseconds for each call, the least of many
 * batches. run.sh starts the program with the library preloaded and without it, by turns. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 400, CALLS = 500 };

static int zero, null, event;
static char byte;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void read_nothing(void) { (void)!read(zero, &byte, 0); }
static void read_byte(void) { (void)!read(zero, &byte, 1); }
static void write_byte(void) { (void)!write(null, &byte, 1); }
static void poll_one(void) {
    struct pollfd one = {.fd = event, .events = POLLIN};
    poll(&one, 1, 0);
}
static void poll_eight(void) {
    struct pollfd eight[8];
    for (int at = 0; at < 8; at++)
        eight[at] = (struct pollfd){.fd = event, .events = POLLIN};
    poll(eight, 8, 0);
}
static void select_one(void) {
    fd_set set;
    struct timeval none = {0, 0};
    FD_ZERO(&set);
    FD_SET(event, &set);
    select(event + 1, &set, NULL, NULL, &none);
}
static void get_flags(void) { fcntl(zero, F_GETFL); }
static void duplicate_and_close(void) { close((int)syscall(SYS_dup, zero)); }
static void close_nothing(void) { close(1000); }

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {
    {"read of 0 bytes", read_nothing}, {"read of 1 byte", read_byte}, {"write of 1 byte", write_byte},
    {"poll of 1", poll_one},           {"poll of 8", poll_eight},     {"select of 1", select_one},
    {"fcntl F_GETFL", get_flags},      {"dup and close", duplicate_and_close}, {"close of no descriptor", close_nothing},
};

int main(void) {
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    event = eventfd(0, 0);
    for (unsigned at = 0; at < sizeof calls / sizeof *calls; at++) {
        double least = 1e9;
        for (int batch = 0; batch < BATCHES; batch++) {
            double start = now_ns();
            for (int call = 0; call < CALLS; call++)
                calls[at].run();
            double each = (now_ns() - start) / CALLS;
            if (each < least)
                least = each;
        }
        printf("%s\t%.2f\n", calls[at].name, least);
    }
    return 0;
}

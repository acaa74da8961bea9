/* Three processes open and close clone devices and pipes at once, for a quarter of a second each. No call fails, and at least
 * 1,500 cycles are made in a second. HEADWATER_CYCLES_MIN=0 asks for no rate (for a debug build or a busy machine). */
#include "stream.h"

enum { PROCESSES = 3 };

struct counts {
    long cycles[PROCESSES], errors[PROCESSES];
};

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int cycle_of_device(const char *path) {
    int fd = open(path, O_RDWR);
    if (fd < 0)
        return 0;
    int right = isastream(fd) == 1;
    return close(fd) == 0 && right;
}

static int cycle_of_pipe(const char *unused) {
    int ends[2];
    (void)unused;
    if (pipe(ends) != 0)
        return 0;
    char byte = 'x';
    int right = write(ends[0], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && right;
}

static void race(const char *name, int (*cycle)(const char *), const char *path) {
    struct counts *counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long ms = extent(250), least = setting("HEADWATER_CYCLES_MIN", 1500), sum = 0;
    pid_t children[PROCESSES];
    for (int at = 0; at < PROCESSES; at++)
        if ((children[at] = fork()) == 0) {
            for (long long end = now_ms() + ms; now_ms() < end;)
                if (cycle(path))
                    counts->cycles[at]++;
                else if (counts->errors[at]++ == 0)
                    failed(__FILE__, __LINE__, "open and close", "%s: cycle %ld: errno %s", name, counts->cycles[at],
                           strerrorname_np(errno) ? strerrorname_np(errno) : "0");
            _exit(0);
        }
    for (int at = 0; at < PROCESSES; at++) {
        EXPECT(ended_within(children[at], (int)ms + 10000), 0, "the process ends");
        EXPECT(counts->errors[at], 0, "SVR4 clone: every open and close succeeds");
        sum += counts->cycles[at];
    }
    long rate = sum * 1000 / ms;
    dprintf(1, "%s: %ld cycles/s by %d processes\n", name, rate, PROCESSES);
    in_context("%s: %ld cycles/s, at least %ld", name, rate, least);
    HOLDS(rate >= least, "at least 1,500 cycles a second");
    in_context("%s", "");
}

static void echo_devices(void) { race("/dev/streams/clone/echo", cycle_of_device, "/dev/streams/clone/echo"); }
static void nuls_devices(void) { race("/dev/streams/nuls", cycle_of_device, "/dev/streams/nuls"); }
static void pipes(void) { race("pipe", cycle_of_pipe, NULL); }

static void clones_are_different_streams(void) {
    int first = open_device("echo"), second = open_device("echo");
    set_nonblocking(second, 1);
    EXPECT(write(first, "x", 1), 1, "write");
    FAILS(read(second, got.data_bytes, 9), EAGAIN, "SVR4 clone: each open is a stream of its own");
    EXPECT(read(first, got.data_bytes, 9), 1, "read");
    struct stat one, two;
    HOLDS(fstat(first, &one) == 0 && fstat(second, &two) == 0 && (one.st_ino != two.st_ino || one.st_rdev != two.st_rdev),
          "SVR4 clone: each open has a minor number of its own");
}

static void many_at_once(void) {
    int devices[150];
    for (int at = 0; at < 150; at++)
        devices[at] = open_device("echo");
    for (int at = 0; at < 150; at++)
        EXPECT(write(devices[at], &at, sizeof at), sizeof at, "write");
    for (int at = 149; at >= 0; at--) {
        int seen = -1;
        EXPECT(read(devices[at], &seen, sizeof seen), sizeof seen, "read");
        EXPECT(seen, at, "SVR4 clone: each has its own data");
        close(devices[at]);
    }
}

static const struct test tests[] = {
    TEST_OF(echo_devices, 120),
    TEST_OF(nuls_devices, 120),
    TEST_OF(pipes, 120),
    TEST(clones_are_different_streams),
    TEST_OF(many_at_once, 30),
};
MAIN(tests)

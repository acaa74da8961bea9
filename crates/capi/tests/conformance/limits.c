/* The limits of a process, setrlimit(2), and many processes at one pipe. A call works or fails; no signal ends the process, and
 * nothing that was written is lost. */
#include "stream.h"
#include <pthread.h>
#include <sys/resource.h>

static const char *const rule = "setrlimit(2): under a limit a call works or fails";

/* Makes a pipe, and moves bytes through it. Returns 0 if it works or if the pipe is refused. */
static int use_a_pipe(void) {
    int ends[2];
    char text[10];
    if (pipe(ends) != 0)
        return errno == EMFILE || errno == EFBIG || errno == ENOMEM ? 0 : errno;
    if (isastream(ends[0]) != 1)
        return 101;
    if (write(ends[1], "bytes", 5) != 5 || read(ends[0], text, sizeof text) != 5)
        return 102;
    if (put_message(ends[1], "control", "data", 0) != 0)
        return 103;
    close(ends[1]);
    close(ends[0]);
    return 0;
}

static void each_limit(void) {
    static const struct {
        const char *name;
        int limit, count;
        rlim_t values[8];
    } limits[] = {
        /* The limit is that of `ulimit -v 26000`. With less than the program has already, Rust's allocator would end it. */
        {"AS", RLIMIT_AS, 1, {26000 << 10}},
        {"CORE", RLIMIT_CORE, 1, {0}},
        {"CPU", RLIMIT_CPU, 1, {100}},
        {"DATA", RLIMIT_DATA, 1, {4 << 20}},
        {"FSIZE", RLIMIT_FSIZE, 4, {0, 4096, 1 << 20, 7 << 20}},
        {"LOCKS", RLIMIT_LOCKS, 1, {0}},
        {"MEMLOCK", RLIMIT_MEMLOCK, 1, {0}},
        {"MSGQUEUE", RLIMIT_MSGQUEUE, 1, {0}},
        {"NICE", RLIMIT_NICE, 1, {0}},
        {"NOFILE", RLIMIT_NOFILE, 7, {0, 3, 4, 5, 6, 7, 8}},
        {"NPROC", RLIMIT_NPROC, 1, {0}},
        {"RSS", RLIMIT_RSS, 1, {0}},
        {"RTPRIO", RLIMIT_RTPRIO, 1, {0}},
        {"RTTIME", RLIMIT_RTTIME, 1, {0}},
        {"SIGPENDING", RLIMIT_SIGPENDING, 1, {0}},
        {"STACK", RLIMIT_STACK, 1, {64 << 10}},
    };
    for (size_t at = 0; at < COUNT(limits); at++)
        for (const rlim_t *value = limits[at].values; value < limits[at].values + limits[at].count; value++) {
            in_context("RLIMIT_%s %llu", limits[at].name, (unsigned long long)*value);
            fflush(NULL);
            pid_t child = fork();
            if (child == 0) {
                struct rlimit both = {*value, *value};
                if (setrlimit(limits[at].limit, &both) != 0)
                    _exit(100);
                _exit(use_a_pipe());
            }
            EXPECT(ended_within(child, 5000), 0, rule);
        }
    in_context("%s", "");
}

/* `ulimit -v 26000` gives address space for a program and one pipe. The kernel's pipe works there, and so does this one. */
static void pipe_works_in_a_small_address_space(void) {
    pid_t child = fork();
    if (child == 0) {
        int ends[2];
        char line[100];
        unsigned long kib = 0;
        FILE *status = fopen("/proc/self/status", "r");
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "VmSize: %lu", &kib) == 1)
                break;
        struct rlimit both = {(kib + 8000) << 10, (kib + 8000) << 10};
        if (kib == 0 || setrlimit(RLIMIT_AS, &both) != 0)
            _exit(100);
        _exit(pipe(ends) == 0 ? 0 : errno);
    }
    EXPECT(ended_within(child, 5000), 0, "a pipe takes less than 8 MB of addresses");
}

/* Writes a byte, waits for the end of another pipe, which is the kernel's or the library's, and writes again. */
static int write_twice(int to, int until) {
    char byte;
    if (write(to, "a", 1) != 1)
        return errno ? errno : 1;
    if (read(until, &byte, 1) != 0)
        return 101;
    return write(to, "b", 1) == 1 ? 0 : errno ? errno : 1;
}

static void many_processes_write_to_one_pipe(void) {
    enum { USERS = 300 };
    int data[2], until[2];
    pid_t children[USERS];
    open_pipe(data);
    open_pipe(until);
    for (int at = 0; at < USERS; at++) {
        fflush(NULL);
        children[at] = fork();
        NEEDS(children[at] >= 0, "fork succeeds");
        if (children[at] == 0) {
            close(until[1]);
            _exit(write_twice(data[1], until[0]));
        }
    }
    close(data[1]);
    close(until[0]);
    char buffer[2 * USERS];
    long total = 0;
    ssize_t count;
    while (total < USERS && (count = read(data[0], buffer, sizeof buffer)) > 0)
        total += count;
    EXPECT(total, USERS, "POSIX write: what was written can be read");
    close(until[1]);
    while ((count = read(data[0], buffer, sizeof buffer)) > 0)
        total += count;
    EXPECT(total, 2 * USERS, "POSIX write: what was written can be read");
    for (int at = 0; at < USERS; at++)
        EXPECT(ended_within(children[at], 5000), 0, "POSIX write: it succeeds while there is a reader");
}

static int shared_end;

static void *write_one(void *unused) {
    (void)unused;
    return (void *)(uintptr_t)(write(shared_end, "a", 1) == 1 ? 0 : 1);
}

static void many_threads_write_to_one_pipe(void) {
    enum { THREADS = 300 };
    pthread_t threads[THREADS];
    pthread_attr_t small;
    int data[2], started = 0;
    open_pipe(data);
    shared_end = data[1];
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    while (started < THREADS && pthread_create(&threads[started], &small, write_one, NULL) == 0)
        started++;
    EXPECT(started, THREADS, "pthread_create succeeds");
    for (int at = 0; at < started; at++) {
        void *failed_to_write = NULL;
        pthread_join(threads[at], &failed_to_write);
        HOLDS(failed_to_write == NULL, "POSIX write: it succeeds while there is a reader");
    }
    close(data[1]);
    char buffer[2 * THREADS];
    long total = 0;
    ssize_t count;
    while ((count = read(data[0], buffer, sizeof buffer)) > 0)
        total += count;
    EXPECT(total, started, "POSIX write: what was written can be read");
}

static const struct test tests[] = {
    TEST_OF(each_limit, 60),
    TEST(pipe_works_in_a_small_address_space),
    TEST_OF(many_processes_write_to_one_pipe, 60),
    TEST_OF(many_threads_write_to_one_pipe, 60),
};
MAIN(tests)

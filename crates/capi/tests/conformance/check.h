/* Checks of the conformance programs, and their runner. A program is a table of tests; the runner runs each in a process of its
 * own with a time limit. A check names its rule and the rule's source; one that fails prints its place, what was expected and what
 * was seen. The exit status is the number of failed checks, at most 100.
 *
 *   program            runs every test
 *   program NAME...    runs these tests
 *   program -l         lists the tests
 *   program -f         runs without a process for each test (for a debugger)
 *
 * Sources are cited as: POSIX (POSIX.1-2008 with the option XSR, or SUSv2), STREAMS n.m (the page of behaviour, point m of the
 * list in section n), SVR4 (streamio(7)).
 */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEVER_RETURNS __attribute__((noreturn))
#define MAY_BE_UNUSED __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Bad arguments. They are hidden from the compiler, which would warn. */
MAY_BE_UNUSED static volatile int bad_count = -1, large_count = 2000;
MAY_BE_UNUSED static void *volatile bad_pointer = (void *)16;

struct tally {
    int checks, failures;
};

/* The tally is shared by the processes of a program. */
static struct tally *tally;

/* The row of a table, which checks in a loop add to their messages. */
static char context[200];

MAY_BE_UNUSED __attribute__((format(printf, 1, 2))) static void in_context(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
}

/* Writes to standard error by the kernel's own call, because a test may have replaced it. */
static int report_fd = 2;

MAY_BE_UNUSED __attribute__((format(printf, 4, 5))) static int failed(const char *file, int line, const char *rule,
                                                                      const char *format, ...) {
    char text[1000];
    const char *name = strrchr(file, '/');
    int saved = errno;
    size_t len = (size_t)snprintf(text, sizeof text, "FAILED %s:%d [%s]%s%s: ", name ? name + 1 : file, line, rule,
                                  context[0] ? " " : "", context);
    va_list arguments;
    va_start(arguments, format);
    len += (size_t)vsnprintf(text + len, sizeof text - len, format, arguments);
    va_end(arguments);
    if (len > sizeof text - 2)
        len = sizeof text - 2;
    text[len++] = '\n';
    if (write(report_fd, text, len) != (ssize_t)len)
        abort();
    __atomic_add_fetch(&tally->failures, 1, __ATOMIC_SEQ_CST);
    errno = saved;
    return 0;
}

MAY_BE_UNUSED static int counted(void) { return __atomic_add_fetch(&tally->checks, 1, __ATOMIC_SEQ_CST); }

static inline const char *error_name(long long value, int error) {
    return value == -1 ? strerrorname_np(error) ? strerrorname_np(error) : "errno 0" : "";
}

/* Checks the value of a call or expression. */
#define EXPECT(call, expected, rule) check_value(__FILE__, __LINE__, rule, #call, (errno = 0, (long long)(call)), expected)

static inline int check_value(const char *file, int line, const char *rule, const char *text, long long seen, long long expected) {
    counted();
    return seen == expected ? 1
                            : failed(file, line, rule, "%s: expected %lld, seen %lld %s", text, expected, seen,
                                     error_name(seen, errno));
}

/* Checks that a call returns a value that is not negative. */
#define SUCCEEDS(call, rule) check_success(__FILE__, __LINE__, rule, #call, (errno = 0, (long long)(call)))

static inline int check_success(const char *file, int line, const char *rule, const char *text, long long seen) {
    counted();
    return seen >= 0 ? 1 : failed(file, line, rule, "%s: expected success, seen %lld %s", text, seen, error_name(seen, errno));
}

/* Checks that a call returns -1 with this errno. */
#define FAILS(call, error, rule) check_error(__FILE__, __LINE__, rule, #call, (errno = 0, (long long)(call)), error)

static inline int check_error(const char *file, int line, const char *rule, const char *text, long long seen, int error) {
    int got = errno;
    counted();
    return seen == -1 && got == error ? 1
                                      : failed(file, line, rule, "%s: expected -1 %s, seen %lld %s", text,
                                               strerrorname_np(error), seen, error_name(seen, got));
}

/* Checks a condition. */
#define HOLDS(condition, rule) \
    (counted(), (condition) ? 1 : failed(__FILE__, __LINE__, rule, "expected: %s (errno %d)", #condition, errno))

/* Checks bytes. */
#define BYTES(seen, len, expected, rule) check_bytes(__FILE__, __LINE__, rule, seen, (long)(len), expected)

static inline int check_bytes(const char *file, int line, const char *rule, const void *seen, long len, const char *expected) {
    counted();
    if (len == (long)strlen(expected) && memcmp(seen, expected, (size_t)len) == 0)
        return 1;
    return failed(file, line, rule, "expected \"%s\" (%zu bytes), seen \"%.*s\" (%ld bytes)", expected, strlen(expected),
                  len > 0 ? len < 60 ? (int)len : 60 : 0, (const char *)seen, len);
}

/* Ends the test if a condition does not hold without which it cannot go on. */
#define NEEDS(condition, rule) \
    do { \
        if (!HOLDS(condition, rule)) { \
            fflush(NULL); \
            _exit(0); \
        } \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
    int seconds; /* time limit; 0: 10 s */
};

#define TEST(name) {#name, name, 0}
#define TEST_OF(name, seconds) {#name, name, seconds}

MAY_BE_UNUSED static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Returns how many rounds or milliseconds a test takes: `brief`, or HEADWATER_TIMES times as many if that is set, as the long
 * form does. */
MAY_BE_UNUSED static long extent(long brief) {
    const char *times = getenv("HEADWATER_TIMES");
    return times ? brief * atol(times) : brief;
}

MAY_BE_UNUSED static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) == -1 && errno == EINTR)
        ;
}

/* Returns the status of a child; -1 for a child that does not end within the time, which is killed. */
MAY_BE_UNUSED static int ended_within(pid_t child, int ms) {
    long long end = now_ms() + ms;
    int status;
    for (;;) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child)
            return status;
        if (got == -1 && errno != EINTR)
            return -1;
        if (now_ms() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        sleep_ms(2);
    }
}

static void run_test(const struct test *test) {
    int limit_ms = (test->seconds ? test->seconds : 10) * 1000;
    long long end = now_ms() + limit_ms;
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        test->run();
        fflush(NULL);
        _exit(0);
    }
    setpgid(child, child);
    for (;;) {
        if (waitpid(child, &status, WNOHANG) == child)
            break;
        if (now_ms() > end) {
            failed(__FILE__, __LINE__, "time limit", "test %s: expected to end within %d ms, seen running", test->name, limit_ms);
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return;
        }
        sleep_ms(1);
    }
    kill(-child, SIGKILL); /* what the test has left */
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        failed(__FILE__, __LINE__, "survival", "test %s: expected to end with status 0, seen %s %d", test->name,
               WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

MAY_BE_UNUSED static int run_tests(int argc, char **argv, const struct test *tests, size_t count) {
    int alone = argc > 1 && strcmp(argv[1], "-f") == 0;
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report_fd = fcntl(2, F_DUPFD_CLOEXEC, 200);
    signal(SIGPOLL, SIG_IGN);
    for (size_t at = 0; at < count; at++) {
        int wanted = argc == 1 + alone;
        for (int word = 1 + alone; word < argc; word++)
            wanted |= strcmp(argv[word], tests[at].name) == 0;
        if (argc > 1 && strcmp(argv[1], "-l") == 0)
            printf("%s\n", tests[at].name);
        else if (wanted && alone)
            tests[at].run();
        else if (wanted)
            run_test(&tests[at]);
    }
    printf("%d checks, %d failed\n", tally->checks, tally->failures);
    return tally->failures > 100 ? 100 : tally->failures;
}

#define MAIN(tests) \
    int main(int argc, char **argv) { return run_tests(argc, argv, tests, COUNT(tests)); }
#endif

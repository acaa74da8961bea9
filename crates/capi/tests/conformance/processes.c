/* Streams across processes: fork, exec, posix_spawn, kills. All descriptors of an end are one end; the close of the last one in
 * any process hangs up (POSIX fork, exec; STREAMS 4.2). Started as `processes role ...`, this is the program that exec runs. */
#include "stream.h"
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>

static char **environment_of(void);

static const char *const self = "/proc/self/exe";

/* The role of a program that was executed with a stream: it reads a line, answers, and reads the end. */
static int answer(int fd) {
    char text[100];
    if (isastream(fd) != 1)
        return 11;
    if (read(fd, text, sizeof text) != 4 || memcmp(text, "ping", 4) != 0)
        return 12;
    if (put_message(fd, "pong", "data", 0) != 0)
        return 13;
    return read(fd, text, sizeof text) == 0 ? 0 : 14;
}

static void ping_pong(pid_t child, const char *rule) {
    EXPECT(write(near, "ping", 4), 4, rule);
    get_message(near);
    PARTS("pong", "data", rule);
    close(near);
    EXPECT(ended_within(child, 5000), 0, rule);
}

static void a_forked_child_uses_the_end(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        close(near);
        _exit(answer(far));
    }
    close(far);
    ping_pong(child, "POSIX fork: the child has copies of the descriptors");
}

static void an_executed_program_uses_the_end(void) {
    open_ends();
    char number[10];
    snprintf(number, sizeof number, "%d", far);
    pid_t child = fork();
    if (child == 0) {
        close(near);
        execl(self, "processes", "role", number, NULL);
        _exit(99);
    }
    close(far);
    ping_pong(child, "POSIX exec: open descriptors stay open");
}

static void executed_program_has_stream_as_standard_input(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        dup2(far, 0);
        close(near), close(far);
        execl(self, "processes", "role", "0", NULL);
        _exit(99);
    }
    close(far);
    ping_pong(child, "POSIX dup2, exec: a stream as standard input");
}

static void a_spawned_program_uses_the_end(void) {
    open_ends();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, far, 0);
    posix_spawn_file_actions_addclose(&actions, near);
    posix_spawn_file_actions_addclose(&actions, far);
    char *arguments[] = {"processes", "role", "0", NULL};
    pid_t child = -1;
    EXPECT(posix_spawn(&child, self, &actions, NULL, arguments, environment_of()), 0, "POSIX posix_spawn");
    close(far);
    ping_pong(child, "POSIX posix_spawn: a stream as standard input");
}

static void spawn_with_closefrom_keeps_the_stream(void) {
    open_ends();
    enum { KERNELS = 40 };
    int null = open("/dev/null", O_RDONLY);
    EXPECT(dup2(null, KERNELS), KERNELS, "dup2");
    /* This descriptor is above the library's own. */
    struct rlimit limit;
    NEEDS(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    int highest = limit.rlim_cur < 60000 ? (int)limit.rlim_cur - 1 : 60000;
    EXPECT(dup2(null, highest), highest, "dup2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, far, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawn_file_actions_adddup2(&actions, 0, 5);
    char number[10];
    snprintf(number, sizeof number, "%d", highest);
    char *arguments[] = {"processes", "alone", number, NULL};
    pid_t child = -1;
    EXPECT(posix_spawn(&child, self, &actions, NULL, arguments, environment_of()), 0, "posix_spawn");
    close(far);
    ping_pong(child, "glibc closefrom_np: a stream as standard input, and no other descriptor");
}

/* The program of the test above. */
static int alone_role(int highest) {
    for (int fd = 3; fd < 60; fd++)
        if (fd != 5 && fcntl(fd, F_GETFD) != -1)
            return 15;
    return fcntl(highest, F_GETFD) != -1 ? 16 : isastream(5) != 1 ? 17 : answer(0);
}

static void close_on_exec(void) {
    open_ends();
    fcntl(near, F_SETFD, FD_CLOEXEC);
    char number[10];
    snprintf(number, sizeof number, "%d", far);
    pid_t child = fork();
    if (child == 0) {
        execl(self, "processes", "role", number, NULL);
        _exit(99);
    }
    close(far);
    /* If the child kept `near`, it would never read the end. */
    ping_pong(child, "POSIX exec: FD_CLOEXEC closes the descriptor");
    open_ends();
    fcntl(far, F_SETFD, FD_CLOEXEC);
    child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "5", NULL);
        _exit(99);
    }
    close(far);
    long long start = now_ms();
    EXPECT(read(near, got.data_bytes, 9), 0, "POSIX exec: FD_CLOEXEC closes the last reference");
    HOLDS(now_ms() - start < 3000, "POSIX exec: FD_CLOEXEC closes it at the exec");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void a_childs_close_hangs_up_nothing(void) {
    open_ends();
    set_nonblocking(near, 1);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            close(far);
            close(near);
            _exit(0);
        }
        EXPECT(ended_within(child, 2000), 0, "the child ends");
        FAILS(read(near, got.data_bytes, 9), EAGAIN, "STREAMS 4.2: a child's close does not hang up the other's end");
        EXPECT(write(near, "x", 1), 1, "STREAMS 4.2: a child's close does not hang up the other's end");
        EXPECT(read(far, got.data_bytes, 9), 1, "STREAMS 4.2: the parent's end works");
    }
}

static void a_killed_child_hangs_up_its_end(void) {
    for (int round = 0; round < 10; round++) {
        open_ends();
        pid_t child = fork();
        if (child == 0) {
            close(near);
            for (;;)
                if (write(far, "abcdefghi", 9) < 0)
                    _exit(1);
        }
        close(far);
        char bytes[100];
        long sum = 0;
        ssize_t count;
        while (sum < 5000 + round * 777 && (count = read(near, bytes, sizeof bytes)) > 0)
            sum += count;
        kill(child, SIGKILL);
        while ((count = read(near, bytes, sizeof bytes)) > 0)
            sum += count;
        EXPECT(count, 0, "STREAMS 4.2: a killed writer is the end of the stream, after its data");
        waitpid(child, NULL, 0);
        close(near);
    }
}

static void a_killed_reader_is_epipe(void) {
    on_signal(SIGPIPE, count_signal, 0);
    for (int round = 0; round < 10; round++) {
        open_ends();
        pid_t child = fork();
        if (child == 0) {
            char bytes[100];
            close(near);
            while (read(far, bytes, sizeof bytes) > 0)
                ;
            _exit(0);
        }
        close(far);
        signals_seen = 0;
        for (int at = 0; at < 1000 + 100 * round; at++)
            if (write(near, "abcdefghi", 9) != 9)
                break;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        long long end = now_ms() + 5000;
        ssize_t count;
        while ((count = write(near, "abcdefghi", 9)) > 0 && now_ms() < end)
            ;
        HOLDS(count == -1 && errno == EPIPE, "STREAMS 4.2: a killed reader is EPIPE");
        EXPECT(signals_seen, 1, "STREAMS 4: and SIGPIPE");
        close(near);
    }
}

static void killed_user_leaves_the_end_usable(void) {
    enum { ROUNDS = 30 };
    open_ends();
    pid_t reader = fork();
    if (reader == 0) {
        char byte;
        close(near);
        for (;;) {
            if (read(far, &byte, 1) != 1)
                _exit(1);
            if (byte == 'q')
                _exit(0);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                if (write(near, "abcdefgh", 8) < 0)
                    _exit(1);
        sleep_ms(1 + round % 7);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        EXPECT(write(near, "own", 3), 3, "STREAMS 4.2: locks are robust: the parent's write succeeds");
    }
    EXPECT(write(near, "q", 1), 1, "write");
    EXPECT(ended_within(reader, 5000), 0, "the reader gets every byte that a call has reported as written");
}

static void a_killed_process_in_every_call(void) {
    enum { ROUNDS = 30 };
    open_ends();
    EXPECT(ioctl(near, I_PUSH, "testmod"), 0, "I_PUSH");
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0)
            for (;;) {
                struct strioctl call = {.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 2, .ic_dp = got.control_bytes};
                int bytes;
                ioctl(near, I_STR, &call);
                ioctl(near, I_PUSH, "nullmod");
                put_message(near, NULL, "d", 0);
                get_message(far);
                ioctl(far, I_NREAD, &bytes);
                ioctl(near, I_POP, 0);
                ioctl(far, I_FLUSH, FLUSHRW);
                polled_for(far, POLLIN);
                ioctl(far, I_SETSIG, S_ERROR);
                close(dup(near));
            }
        sleep_ms(1 + round % 11);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        /* Without pipemod, "read" means the read queue of the other end. */
        EXPECT(ioctl(near, I_FLUSH, FLUSHR), 0, "STREAMS 4.2: locks are robust");
        EXPECT(ioctl(far, I_FLUSH, FLUSHR), 0, "STREAMS 4.2: locks are robust");
        EXPECT(put_message(near, NULL, "data", 0), 0, "STREAMS 4.2: the stream works");
        get_message(far);
        PARTS(NULL, "data", "STREAMS 4.2: the stream works");
    }
}

static void grandchildren_and_orphans(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setpgid(0, 0);
            close(near);
            sleep_ms(200);
            _exit(write(far, "orphan", 6) == 6 ? 0 : 1);
        }
        _exit(0);
    }
    close(far);
    EXPECT(ended_within(child, 2000), 0, "the child ends");
    EXPECT(read(near, got.data_bytes, 9), 6, "STREAMS 4.2: the last reference is in a grandchild");
    EXPECT(read(near, got.data_bytes, 9), 0, "STREAMS 4.2: the last reference hangs up");
}

static void parent_and_child_share_reads(void) {
    enum { MESSAGES = 2000 };
    open_ends();
    int counts[2];
    open_pipe(counts);
    for (int reader = 0; reader < 3; reader++)
        if (fork() == 0) {
            int seen = 0, value;
            close(near);
            while (read(far, &value, sizeof value) == sizeof value)
                seen++;
            _exit(write(counts[1], &seen, sizeof seen) == sizeof seen ? 0 : 1);
        }
    close(far);
    for (int at = 0; at < MESSAGES; at++)
        EXPECT(write(near, &at, sizeof at), sizeof at, "write");
    close(near);
    int sum = 0, seen;
    for (int reader = 0; reader < 3; reader++) {
        EXPECT(read(counts[0], &seen, sizeof seen), sizeof seen, "read of a count");
        sum += seen;
    }
    EXPECT(sum, MESSAGES, "POSIX read: each byte is read by one process");
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void vfork_and_system_leave_streams_alone(void) {
    open_ends();
    EXPECT(write(near, "kept", 4), 4, "write");
    EXPECT(system("exit 3"), 3 << 8, "POSIX system");
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(9);
    }
    EXPECT(ended_within(child, 3000), 0, "vfork and exec");
    EXPECT(read(far, got.data_bytes, 9), 4, "the stream is as it was");
    set_nonblocking(far, 1);
    FAILS(read(far, got.data_bytes, 9), EAGAIN, "the stream is as it was");
}

static void devices_across_fork_and_exec(void) {
    int device = open_device("echo");
    char number[10];
    EXPECT(write(device, "ping", 4), 4, "write");
    pid_t child = fork();
    if (child == 0) {
        snprintf(number, sizeof number, "%d", device);
        execl(self, "processes", "device", number, NULL);
        _exit(99);
    }
    EXPECT(ended_within(child, 5000), 0, "POSIX exec: a device stays open");
    EXPECT(read(device, got.data_bytes, 9), 6, "what the program has written to the device");
}

static int device_role(int fd) {
    char text[9];
    if (isastream(fd) != 1 || read(fd, text, 9) != 4)
        return 21;
    return write(fd, "answer", 6) == 6 ? 0 : 22;
}

extern char **environ;
static char **environment_of(void) { return environ; }

static void an_executed_program_gets_both_ends(void) {
    open_ends();
    char one[20], other[20];
    snprintf(one, sizeof one, "%d", near);
    snprintf(other, sizeof other, "%d", far);
    pid_t child = fork();
    if (child == 0) {
        execl(self, "processes", "both", one, other, NULL);
        _exit(99);
    }
    EXPECT(ended_within(child, 5000), 0, "POSIX exec: both ends of a pipe stay open");
}

/* The program of the test below. All of its descriptors up to the last one are ends of pipes, and all work. */
static int many_role(int last, int count) {
    int seen = 0;
    char byte;
    for (int fd = 0; fd <= last; fd++)
        if (isastream(fd) == 1 && ++seen > 0 && write(fd, "m", 1) != 1)
            return 18;
    for (int fd = 0; fd <= last; fd++)
        if (isastream(fd) == 1 && read(fd, &byte, 1) != 1)
            return 19;
    return seen != count ? 20 : getenv("HEADWATER_STREAMS") ? 21 : 0;
}

enum { PIPES = 1300 };

static void executed_program_inherits_many_streams(void) {
    struct rlimit limit;
    NEEDS(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    NEEDS(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    if (limit.rlim_cur < 20000) {
        counted();
        return; /* the limit of descriptors is too low */
    }
    int ends[2];
    for (int at = 0; at < PIPES; at++)
        open_pipe(ends);
    char last[10], count[10];
    snprintf(last, sizeof last, "%d", ends[1]);
    snprintf(count, sizeof count, "%d", 2 * PIPES);
    char *arguments[] = {"processes", "many", last, count, NULL};
    pid_t child = fork();
    if (child == 0) {
        execv(self, arguments);
        _exit(99);
    }
    EXPECT(ended_within(child, 30000), 0, "POSIX exec: open descriptors stay open");
    EXPECT(posix_spawn(&child, self, NULL, NULL, arguments, environment_of()), 0, "posix_spawn");
    EXPECT(ended_within(child, 30000), 0, "POSIX posix_spawn: open descriptors stay open");
    /* A program in between that does not have the library passes all streams on. */
    char path[4096] = {0};
    NEEDS(readlink(self, path, sizeof path - 1) > 0, "readlink");
    child = fork();
    if (child == 0) {
        execl("/usr/bin/env", "env", path, "many", last, count, NULL);
        _exit(99);
    }
    EXPECT(ended_within(child, 30000), 0, "POSIX exec: a program in between without the library passes all on");
    /* No stream is left open in this process. */
    EXPECT(dup(0), ends[1] + 1, "exec leaves no descriptor behind");
}

static int of_handler[2];

/* An event loop does this if it must not share its pipe with its parent. */
static void open_anew(void) {
    close(of_handler[0]);
    close(of_handler[1]);
    if (pipe(of_handler) != 0)
        _exit(21);
}

static void a_handler_of_fork_opens_a_pipe(void) {
    /* Registered before the first stream, so that it runs before the library's own handler in a child. */
    NEEDS(pthread_atfork(NULL, NULL, open_anew) == 0, "pthread_atfork");
    open_pipe(of_handler);
    EXPECT(write(of_handler[0], "p", 1), 1, "write");
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (isastream(of_handler[0]) != 1 || write(of_handler[0], "c", 1) != 1 || read(of_handler[1], &byte, 1) != 1 || byte != 'c')
            _exit(22);
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(isastream(of_handler[1]) == 1 ? 0 : 23);
        _exit(ended_within(grandchild, 3000));
    }
    EXPECT(ended_within(child, 5000), 0, "POSIX pthread_atfork: a handler may call what a signal handler may, pipe among it");
    char byte;
    EXPECT(read(of_handler[1], &byte, 1), 1, "the parent's pipe is as it was");
}

static const struct test tests[] = {
    TEST(a_handler_of_fork_opens_a_pipe),
    TEST(a_forked_child_uses_the_end),
    TEST(an_executed_program_uses_the_end),
    TEST(executed_program_has_stream_as_standard_input),
    TEST(a_spawned_program_uses_the_end),
    TEST(spawn_with_closefrom_keeps_the_stream),
    TEST(close_on_exec),
    TEST(a_childs_close_hangs_up_nothing),
    TEST_OF(a_killed_child_hangs_up_its_end, 30),
    TEST_OF(a_killed_reader_is_epipe, 60),
    TEST_OF(killed_user_leaves_the_end_usable, 30),
    TEST_OF(a_killed_process_in_every_call, 30),
    TEST(grandchildren_and_orphans),
    TEST(parent_and_child_share_reads),
    TEST(vfork_and_system_leave_streams_alone),
    TEST(devices_across_fork_and_exec),
    TEST(an_executed_program_gets_both_ends),
    TEST_OF(executed_program_inherits_many_streams, 120),
};

/* A program that was executed with both ends of a pipe, like those that make's jobserver starts. */
static int both_role(int from, int to) {
    char byte;
    return isastream(from) == 1 && isastream(to) == 1 && write(to, "j", 1) == 1 && read(from, &byte, 1) == 1 && byte == 'j' ? 0
                                                                                                                          : 1;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "many") == 0)
        return many_role(atoi(argv[2]), atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "both") == 0)
        return both_role(atoi(argv[2]), atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "role") == 0)
        return answer(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "alone") == 0)
        return alone_role(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "device") == 0)
        return device_role(atoi(argv[2]));
    return run_tests(argc, argv, tests, COUNT(tests));
}

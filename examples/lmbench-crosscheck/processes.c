/* Rows of the kernel: calls, processes, select, context switches, files. */
#include "connection.h"

#include <fcntl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- A directory, a file in it, the small program --- */

static char directory[64] = "";
static char file[128];
static char small[4096];

static void make_directory(void) {
    strcpy(directory, "/tmp/crosscheck-XXXXXX");
    ensure(mkdtemp(directory) != NULL, "mkdtemp");
}

static void make_file(const struct row *row) {
    (void)row;
    make_directory();
    snprintf(file, sizeof file, "%s/file", directory);
    int fd = (int)must(open(file, O_CREAT | O_WRONLY, 0600), "open");
    must(write(fd, "headwater\n", 10), "write");
    close(fd);
}

static void remove_file(const struct row *row) {
    (void)row;
    if (file[0]) unlink(file);
    if (directory[0]) rmdir(directory);
}

static void find_small(const struct row *row) {
    (void)row;
    ssize_t length = must(readlink("/proc/self/exe", small, sizeof small - 8), "readlink");
    small[length] = 0;
    strcpy(strrchr(small, '/'), "/small");
    must(access(small, X_OK), small);
}

static void nothing(const struct row *row) { (void)row; }

/* --- Calls --- */

static void null_call(const struct row *row, long operations) {
    (void)row;
    while (operations--) getppid();
}

/* A system call without the C library: the instruction is in the loop of the row. */
__attribute__((always_inline))
static inline long inline_call(long number, long first, long second, long third) {
#if defined __x86_64__
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return answer;
#elif defined __aarch64__
    register long answer __asm__("x0") = first;
    register long two __asm__("x1") = second, three __asm__("x2") = third, call __asm__("x8") = number;
    __asm__ volatile("svc 0" : "+r"(answer) : "r"(two), "r"(three), "r"(call) : "memory");
    return answer;
#endif
}

static void null_call_inline(const struct row *row, long operations) {
    (void)row;
    while (operations--) inline_call(SYS_getppid, 0, 0, 0);
}

static int zero, null_device;

static void open_devices(const struct row *row) {
    (void)row;
    zero = (int)must(open("/dev/zero", O_RDONLY), "/dev/zero");
    null_device = (int)must(open("/dev/null", O_WRONLY), "/dev/null");
}

static void null_io(const struct row *row, long operations) {
    (void)row;
    char byte;
    while (operations--) {
        must(read(zero, &byte, 1), "read");
        must(write(null_device, &byte, 1), "write");
    }
}

static void null_io_inline(const struct row *row, long operations) {
    (void)row;
    char byte;
    while (operations--) {
        must(inline_call(SYS_read, zero, (long)&byte, 1), "read");
        must(inline_call(SYS_write, null_device, (long)&byte, 1), "write");
    }
}

static void stat_file(const struct row *row, long operations) {
    (void)row;
    struct stat answer;
    while (operations--) must(stat(file, &answer), "stat");
}

static int open_file;

static void make_and_open_file(const struct row *row) {
    make_file(row);
    open_file = (int)must(open(file, O_RDWR), "open");
}

static void fstat_file(const struct row *row, long operations) {
    (void)row;
    struct stat answer;
    while (operations--) must(fstat(open_file, &answer), "fstat");
}

static void fstat_file_inline(const struct row *row, long operations) {
    (void)row;
    struct stat answer;
    while (operations--) must(inline_call(SYS_fstat, open_file, (long)&answer, 0), "fstat");
}

static void open_and_close(const struct row *row, long operations) {
    (void)row;
    while (operations--) close((int)must(open(file, O_RDONLY), "open"));
}

static void handler(int number) { (void)number; }

static void install(const struct row *row, long operations) {
    (void)row;
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    while (operations--) must(sigaction(SIGUSR1, &action, &before), "sigaction");
}

static void prepare_signal(const struct row *row) { install(row, 1); }

static void signal_self(const struct row *row, long operations) {
    (void)row;
    pid_t own = getpid();
    while (operations--) must(kill(own, SIGUSR1), "kill");
}

static void ask_self(const struct row *row, long operations) {
    (void)row;
    pid_t own = getpid();
    while (operations--) must(kill(own, 0), "kill");
}

/* --- Processes --- */

static void await(pid_t pid, int expected) {
    int status;
    must(waitpid(pid, &status, 0), "waitpid");
    ensure(WIFEXITED(status) && WEXITSTATUS(status) == expected, "a child ended as it ought not to");
}

static void fork_and_wait(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        pid_t pid = (pid_t)must(fork(), "fork");
        if (pid == 0) _exit(0);
        await(pid, 0);
    }
}

static char *environment[] = {"PATH=/usr/bin:/bin", NULL};

static void execute(char **words, long operations) {
    while (operations--) {
        pid_t pid = (pid_t)must(fork(), "fork");
        if (pid == 0) {
            execve(words[0], words, environment);
            _exit(127);
        }
        await(pid, 42);
    }
}

static void execute_small(const struct row *row, long operations) {
    (void)row;
    char *words[] = {small, NULL};
    execute(words, operations);
}

static void execute_shell(const struct row *row, long operations) {
    (void)row;
    char *words[] = {"/bin/sh", "-c", small, NULL};
    execute(words, operations);
}

/* --- select --- */

static fd_set chosen;
static int highest;

/* `first` descriptors of the file of `of`. */
static void choose(const struct row *row, int of) {
    FD_ZERO(&chosen);
    for (long member = 0; member < row->first; member++) {
        int copy = (int)must(dup(of), "dup");
        ensure(copy < FD_SETSIZE, "too many descriptors");
        FD_SET(copy, &chosen);
        if (copy > highest) highest = copy;
    }
}

static void choose_file(const struct row *row) {
    make_and_open_file(row);
    choose(row, open_file);
}

static void choose_connection(const struct row *row) {
    int ends[2];
    connect_tcp(ends);
    choose(row, ends[0]);
}

static void select_now(const struct row *row, long operations) {
    while (operations--) {
        fd_set writers = chosen;
        struct timeval no_time = {0, 0};
        ensure(select(highest + 1, NULL, &writers, NULL, &no_time) == row->first, "not all take a write");
    }
}

/* --- Context switches --- */

enum { PROCESSES_MAX = 96 };

static int alone[PROCESSES_MAX][2];
static int ring_in, ring_out;
static uint64_t *own;
static size_t words_count;

/* Adds up the words, one by one, to two sums by turns. */
static uint64_t sum(const uint64_t *words, size_t count) {
    uint64_t one = 0, two = 0;
    for (size_t word = 0; word < count; word += 8) {
        one += words[word], two += words[word + 1], one += words[word + 2], two += words[word + 3];
        one += words[word + 4], two += words[word + 5], one += words[word + 6], two += words[word + 7];
    }
    return one + two;
}

static volatile uint64_t sink;

static void fill_own(void) {
    own = malloc(words_count * 8 + 1);
    for (size_t word = 0; word < words_count; word++) own[word] = word;
    __asm__ volatile("" : : "r"(own) : "memory");
}

static void pass(int from, int to) {
    uint32_t token;
    ensure(read(from, &token, 4) == 4, "no token");
    sink = sum(own, words_count);
    ensure(write(to, &token, 4) == 4, "no room");
}

/* `first` processes of `second` KiB each. */
static void make_ring(const struct row *row) {
    static int ring[PROCESSES_MAX][2];
    words_count = (size_t)row->second * 1024 / 8;
    for (long place = 0; place < row->first; place++) must(pipe(ring[place]), "pipe");
    for (long place = 1; place < row->first; place++) {
        if (fork_helper(place % 2) == 0) {
            fill_own();
            for (;;) pass(ring[place][0], ring[(place + 1) % row->first][1]);
        }
    }
    ring_in = ring[0][0];
    ring_out = ring[1][1];
    for (long place = 0; place < row->first; place++) {
        if (place != 0) close(ring[place][0]);
        if (place != 1) close(ring[place][1]);
        must(pipe(alone[place]), "pipe");
    }
    fill_own();
}

static void turn(const struct row *row, long operations) {
    (void)row;
    uint32_t token = 0;
    while (operations--) {
        ensure(write(ring_out, &token, 4) == 4, "no room");
        ensure(read(ring_in, &token, 4) == 4, "no token");
        sink = sum(own, words_count);
    }
}

static void turn_alone(const struct row *row, long operations) {
    uint32_t token = 0;
    while (operations--) {
        for (long place = 0; place < row->first; place++) {
            ensure(write(alone[place][1], &token, 4) == 4, "no room");
            ensure(read(alone[place][0], &token, 4) == 4, "no token");
            sink = sum(own, words_count);
        }
    }
}

/* --- Files of `first` KiB --- */

/* The names are paths; the files are a hundred to a directory. `deleted` and `created` count from the first name on. */
enum { FILES_MAX = 1000, OF_A_DIRECTORY = 100 };
static char names[FILES_MAX][128];
static char contents[16384];
static long deleted, created;

static void create_files(const struct row *row, long operations) {
    size_t bytes = (size_t)row->first * 1024;
    while (operations--) {
        int fd = (int)must(creat(names[created++], 0600), "creat");
        if (bytes) ensure(write(fd, contents, bytes) == (ssize_t)bytes, "write");
        close(fd);
    }
}

static void delete_files(const struct row *row, long operations) {
    (void)row;
    while (operations--) must(unlink(names[deleted++]), "unlink");
}

static void delete_all(const struct row *row) {
    delete_files(row, created - deleted);
    deleted = created = 0;
}

static void make_room(const struct row *row, long operations) {
    if (FILES_MAX - created < operations) delete_all(row);
}

static void make_stock(const struct row *row, long operations) {
    if (created - deleted >= operations) return;
    delete_all(row);
    create_files(row, FILES_MAX);
}

static void make_files(const struct row *row) {
    make_directory();
    for (int name = 0; name < FILES_MAX; name++) {
        int length = sprintf(names[name], "%s/%d", directory, name / OF_A_DIRECTORY);
        if (name % OF_A_DIRECTORY == 0) must(mkdir(names[name], 0700), "mkdir");
        sprintf(names[name] + length, "/%d", name % OF_A_DIRECTORY);
    }
    create_files(row, FILES_MAX);
    delete_all(row);
}

static void remove_files(const struct row *row) {
    char place[128];
    delete_all(row);
    for (int number = 0; number < FILES_MAX / OF_A_DIRECTORY; number++) {
        snprintf(place, sizeof place, "%s/%d", directory, number);
        rmdir(place);
    }
    rmdir(directory);
}

/* --- The rows --- */

#define US .unit = "us"
#define SELECT(n)                                                                                                   \
    {"select-" #n "-fd", US, .first = n, .prepare = choose_file, .run = select_now, .clean = remove_file},            \
    {"select-" #n "-tcp", US, .first = n, .prepare = choose_connection, .run = select_now}
#define SWITCH(p, s)                                                                                                \
    {"ctxsw-" #p "p-" #s "k", US, .quantity = p, .first = p, .second = s, .prepare = make_ring, .run = turn,          \
     .subtracted = turn_alone}
#define SWITCHES(s)                                                                                                 \
    SWITCH(2, s), SWITCH(4, s), SWITCH(8, s), SWITCH(16, s), SWITCH(32, s), SWITCH(64, s), SWITCH(96, s)
#define FILES(k)                                                                                                    \
    {"create-" #k "k", US, .first = k, .prepare = make_files, .run = create_files, .piece_max = FILES_MAX,            \
     .tidy = make_room, .clean = remove_files},                                                                    \
    {"delete-" #k "k", US, .timed_share = 0.1, .first = k, .prepare = make_files, .run = delete_files, \
     .piece_max = FILES_MAX, .tidy = make_stock, .clean = remove_files}

static const struct row rows[] = {
    {"null-call", US, .prepare = nothing, .run = null_call},
    {"null-call-inline", US, .prepare = nothing, .run = null_call_inline},
    {"null-io", US, .quantity = 2, .prepare = open_devices, .run = null_io},
    {"null-io-inline", US, .quantity = 2, .prepare = open_devices, .run = null_io_inline},
    {"stat", US, .prepare = make_file, .run = stat_file, .clean = remove_file},
    {"fstat", US, .prepare = make_and_open_file, .run = fstat_file, .clean = remove_file},
    {"fstat-inline", US, .prepare = make_and_open_file, .run = fstat_file_inline, .clean = remove_file},
    {"open-close", US, .prepare = make_file, .run = open_and_close, .clean = remove_file},
    {"signal-install", US, .prepare = prepare_signal, .run = install},
    {"signal-handle", US, .prepare = prepare_signal, .run = signal_self, .subtracted = ask_self},
    {"fork", US, .prepare = nothing, .run = fork_and_wait},
    {"execve", US, .prepare = find_small, .run = execute_small},
    {"sh", US, .prepare = find_small, .run = execute_shell},
    SELECT(10), SELECT(100), SELECT(250), SELECT(500),
    SWITCHES(0), SWITCHES(4), SWITCHES(8), SWITCHES(16), SWITCHES(32), SWITCHES(64),
    FILES(0), FILES(1), FILES(4), FILES(10),
};

int main(int count, char **words) { return measure_main(count, words, rows, sizeof rows / sizeof rows[0]); }

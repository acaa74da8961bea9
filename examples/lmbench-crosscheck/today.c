/* Rows of today's kernel: clocks, random bytes, wake-ups, epoll, io_uring, children, pidfd, protection, barriers, faults. */
#include "measure.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static const size_t page = 4096, huge = 2 << 20;

static void nothing(const struct row *row) { (void)row; }

static void *mapped(size_t bytes, int flags) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    ensure(memory != MAP_FAILED, "mmap");
    return memory;
}

/* --- Clocks and random bytes --- */

static void clock_by_library(const struct row *row, long operations) {
    (void)row;
    struct timespec now;
    while (operations--) must(clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void clock_by_call(const struct row *row, long operations) {
    (void)row;
    struct timespec now;
    while (operations--) must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void random_by_library(const struct row *row, long operations) {
    (void)row;
    char bytes[16];
    while (operations--) ensure(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "getrandom");
}

static void random_by_call(const struct row *row, long operations) {
    (void)row;
    char bytes[16];
    while (operations--) ensure(syscall(SYS_getrandom, bytes, sizeof bytes, 0) == sizeof bytes, "getrandom");
}

/* --- Waking another process --- */

static uint32_t *words;
static uint32_t asked;

static void tell(uint32_t *where, uint32_t value) {
    __atomic_store_n(where, value, __ATOMIC_RELEASE);
    must(syscall(SYS_futex, where, FUTEX_WAKE, 1, NULL, NULL, 0), "futex");
}

static uint32_t sleep_beyond(uint32_t *where, uint32_t old) {
    for (;;) {
        syscall(SYS_futex, where, FUTEX_WAIT, old, NULL, NULL, 0);
        uint32_t value = __atomic_load_n(where, __ATOMIC_ACQUIRE);
        if (value != old) return value;
    }
}

static void serve_futex(const struct row *row) {
    (void)row;
    words = mapped(page, MAP_SHARED | MAP_POPULATE);
    if (fork_helper(1) == 0) {
        for (uint32_t question = 0;;) {
            question = sleep_beyond(&words[0], question);
            tell(&words[32], question);
        }
    }
}

static void ask_futex(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        tell(&words[0], asked + 1);
        ensure(sleep_beyond(&words[32], asked) == asked + 1, "another answer");
        asked++;
    }
}

static int question, answer;

static void make_eventfd(const struct row *row) {
    (void)row;
    question = answer = (int)must(eventfd(0, 0), "eventfd");
}

static void exchange(long operations, int to, int from) {
    uint64_t count = 1;
    while (operations--) {
        must(write(to, &count, sizeof count), "write");
        must(read(from, &count, sizeof count), "read");
    }
}

static void serve_eventfd(const struct row *row) {
    (void)row;
    question = (int)must(eventfd(0, 0), "eventfd");
    answer = (int)must(eventfd(0, 0), "eventfd");
    if (fork_helper(1) == 0) {
        for (uint64_t count;;) {
            must(read(question, &count, sizeof count), "read");
            must(write(answer, &count, sizeof count), "write");
        }
    }
}

static void ask_eventfd(const struct row *row, long operations) {
    (void)row;
    exchange(operations, question, answer);
}

/* --- epoll --- */

static int set;

static void register_many(const struct row *row) {
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    if (limit.rlim_cur < (rlim_t)row->first + 64) limit.rlim_cur = (rlim_t)row->first + 64;
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
    set = (int)must(epoll_create1(0), "epoll_create1");
    for (long number = 0; number < row->first; number++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)number};
        int fd = (int)must(eventfd(number == row->first / 2, 0), "eventfd");
        must(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
    }
}

static void wait_now(const struct row *row, long operations) {
    (void)row;
    struct epoll_event events[16];
    while (operations--) ensure(epoll_wait(set, events, 16, 0) == 1, "not one is ready");
}

/* --- io_uring, by the system calls --- */

static struct {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
} ring;
static int file_fd;
static char buffer[4096];

static void make_ring(const struct row *row) {
    (void)row;
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    ring.fd = (int)must(syscall(SYS_io_uring_setup, 4, &params), "io_uring_setup");
    ensure(params.features & IORING_FEAT_SINGLE_MMAP, "an old io_uring");
    size_t submissions = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    size_t completions = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    size_t bytes = submissions > completions ? submissions : completions;
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
    char *rings = mmap(NULL, bytes, protection, flags, ring.fd, IORING_OFF_SQ_RING);
    ring.sqes = mmap(NULL, params.sq_entries * sizeof *ring.sqes, protection, flags, ring.fd, IORING_OFF_SQES);
    ensure(rings != MAP_FAILED && (void *)ring.sqes != MAP_FAILED, "mmap");
    ring.sq_tail = (unsigned *)(rings + params.sq_off.tail);
    ring.sq_mask = (unsigned *)(rings + params.sq_off.ring_mask);
    ring.sq_array = (unsigned *)(rings + params.sq_off.array);
    ring.cq_head = (unsigned *)(rings + params.cq_off.head);
    ring.cq_tail = (unsigned *)(rings + params.cq_off.tail);
    ring.cq_mask = (unsigned *)(rings + params.cq_off.ring_mask);
    ring.cqes = (struct io_uring_cqe *)(rings + params.cq_off.cqes);
}

static void make_ring_and_file(const struct row *row) {
    make_ring(row);
    char file[] = "/tmp/crosscheck-XXXXXX";
    file_fd = (int)must(mkstemp(file), "mkstemp");
    unlink(file);
    for (int block = 0; block < 256; block++) ensure(write(file_fd, buffer, 4096) == 4096, "write");
}

static void request(const struct row *row, long operations) {
    while (operations--) {
        unsigned tail = *ring.sq_tail, slot = tail & *ring.sq_mask;
        struct io_uring_sqe *entry = &ring.sqes[slot];
        memset(entry, 0, sizeof *entry);
        entry->opcode = row->first ? IORING_OP_READ : IORING_OP_NOP;
        if (row->first) {
            entry->fd = file_fd;
            entry->addr = (uint64_t)(uintptr_t)buffer;
            entry->len = sizeof buffer;
        }
        ring.sq_array[slot] = slot;
        __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
        must(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), "io_uring_enter");
        unsigned head = *ring.cq_head;
        ensure(head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE), "no completion");
        ensure(ring.cqes[head & *ring.cq_mask].res == (row->first ? 4096 : 0), "another result");
        __atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
    }
}

/* --- Children --- */

static void await(pid_t pid, int expected) {
    int status;
    must(waitpid(pid, &status, 0), "waitpid");
    ensure(WIFEXITED(status) && WEXITSTATUS(status) == expected, "a child ended as it ought not to");
}

static void clone_and_wait(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        struct clone_args arguments;
        memset(&arguments, 0, sizeof arguments);
        arguments.exit_signal = SIGCHLD;
        pid_t pid = (pid_t)must(syscall(SYS_clone3, &arguments, sizeof arguments), "clone3");
        if (pid == 0) _exit(0);
        await(pid, 0);
    }
}

static void vfork_and_wait(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        pid_t pid = vfork();
        if (pid == 0) _exit(0);
        await((pid_t)must(pid, "vfork"), 0);
    }
}

static char small[4096];

static void find_small(const struct row *row) {
    (void)row;
    ssize_t length = must(readlink("/proc/self/exe", small, sizeof small - 8), "readlink");
    small[length] = 0;
    strcpy(strrchr(small, '/'), "/small");
    must(access(small, X_OK), small);
}

static void spawn_and_wait(const struct row *row, long operations) {
    (void)row;
    char *arguments[] = {small, NULL}, *environment[] = {"PATH=/usr/bin:/bin", NULL};
    while (operations--) {
        pid_t pid;
        ensure(posix_spawn(&pid, small, NULL, NULL, arguments, environment) == 0, "posix_spawn");
        await(pid, 42);
    }
}

/* --- pidfd --- */

static pid_t child;
static int child_fd;

static void have_child(const struct row *row) {
    (void)row;
    child = fork_helper(1);
    while (child == 0) sleep(3600);
    child_fd = (int)must(syscall(SYS_pidfd_open, child, 0), "pidfd_open");
}

static void open_child(const struct row *row, long operations) {
    (void)row;
    while (operations--) close((int)must(syscall(SYS_pidfd_open, child, 0), "pidfd_open"));
}

static void signal_child(const struct row *row, long operations) {
    (void)row;
    while (operations--) must(syscall(SYS_pidfd_send_signal, child_fd, 0, NULL, 0), "pidfd_send_signal");
}

static void poll_child(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        struct pollfd polled = {.fd = child_fd, .events = POLLIN};
        ensure(poll(&polled, 1, 0) == 0, "the child has ended");
    }
}

/* --- Protection and barriers --- */

static char *memory;

static void make_page(const struct row *row) {
    (void)row;
    memory = mapped(page, MAP_PRIVATE | MAP_POPULATE);
}

static void protect_and_back(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        must(mprotect(memory, page, PROT_READ), "mprotect");
        must(mprotect(memory, page, PROT_READ | PROT_WRITE), "mprotect");
    }
}

static void join(void) { must(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0), "membarrier"); }

static void join_alone(const struct row *row) {
    (void)row;
    join();
}

static void join_both(const struct row *row) {
    (void)row;
    volatile uint64_t *turns = mapped(page, MAP_SHARED | MAP_POPULATE);
    join();
    if (fork_helper(1) == 0) {
        for (join();;) {
            __atomic_fetch_add(turns, 1, __ATOMIC_RELAXED);
#if defined __x86_64__
            __builtin_ia32_pause();
#endif
        }
    }
    while (*turns == 0) {
    }
}

static void barrier(const struct row *row, long operations) {
    (void)row;
    while (operations--) must(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), "membarrier");
}

/* --- Faults of anonymous memory --- */

static void make_memory(const struct row *row) {
    size_t bytes = (size_t)(row->first * row->piece_max), size = (size_t)row->first;
    char *spare = mapped(bytes + size, MAP_PRIVATE);
    memory = (char *)(((uintptr_t)spare + size - 1) / size * size);
    must(madvise(memory, bytes, size == huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE), "madvise");
}

static void empty(const struct row *row, long operations) {
    (void)operations;
    must(madvise(memory, (size_t)(row->first * row->piece_max), MADV_DONTNEED), "madvise");
}

static void touch(const struct row *row, long operations) {
    volatile char *at = memory;
    for (; operations--; at += row->first) *at = 1;
}

/* --- Faults that another thread resolves --- */

static int faults;

static void *supply(void *none) {
    char *source = mapped(page, MAP_PRIVATE | MAP_POPULATE);
    memset(source, 0x5a, page);
    bind_to(cpus[1]);
    for (struct uffd_msg event;;) {
        ensure(read(faults, &event, sizeof event) == sizeof event, "read");
        struct uffdio_copy copy = {.dst = event.arg.pagefault.address & ~(uint64_t)(page - 1),
                                   .src = (uint64_t)(uintptr_t)source, .len = page};
        must(ioctl(faults, UFFDIO_COPY, &copy), "UFFDIO_COPY");
    }
    return none;
}

static void have_supplier(const struct row *row) {
    size_t bytes = (size_t)(row->first * row->piece_max);
    memory = mapped(bytes, MAP_PRIVATE);
    must(madvise(memory, bytes, MADV_NOHUGEPAGE), "madvise");
    faults = (int)must(syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC), "userfaultfd");
    struct uffdio_api api = {.api = UFFD_API};
    must(ioctl(faults, UFFDIO_API, &api), "UFFDIO_API");
    struct uffdio_register range = {.range = {.start = (uint64_t)(uintptr_t)memory, .len = bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    must(ioctl(faults, UFFDIO_REGISTER, &range), "UFFDIO_REGISTER");
    pthread_t thread;
    ensure(pthread_create(&thread, NULL, supply, NULL) == 0, "pthread_create");
}

static void load(const struct row *row, long operations) {
    volatile char *at = memory;
    for (; operations--; at += row->first) ensure(*at == 0x5a, "not the supplied page");
}

/* --- The rows --- */

#define NS .unit = "ns"
#define EPOLL(n) {"epoll-" #n, NS, .first = n, .prepare = register_many, .run = wait_now}

static const struct row rows[] = {
    {"clock-gettime", NS, .prepare = nothing, .run = clock_by_library},
    {"clock-gettime-syscall", NS, .prepare = nothing, .run = clock_by_call},
    {"getrandom", NS, .prepare = nothing, .run = random_by_library},
    {"getrandom-syscall", NS, .prepare = nothing, .run = random_by_call},
    {"futex-wake-rtt", NS, .prepare = serve_futex, .run = ask_futex},
    {"eventfd", NS, .prepare = make_eventfd, .run = ask_eventfd},
    {"eventfd-wake-rtt", NS, .prepare = serve_eventfd, .run = ask_eventfd},
    EPOLL(10), EPOLL(100), EPOLL(1000), EPOLL(10000),
    {"io-uring-nop", NS, .prepare = make_ring, .run = request},
    {"io-uring-read", NS, .first = 1, .prepare = make_ring_and_file, .run = request},
    {"clone3", NS, .prepare = nothing, .run = clone_and_wait},
    {"vfork", NS, .prepare = nothing, .run = vfork_and_wait},
    {"posix-spawn", NS, .prepare = find_small, .run = spawn_and_wait},
    {"pidfd-open", NS, .prepare = have_child, .run = open_child},
    {"pidfd-send-signal", NS, .prepare = have_child, .run = signal_child},
    {"pidfd-poll", NS, .prepare = have_child, .run = poll_child},
    {"mprotect", NS, .quantity = 2, .prepare = make_page, .run = protect_and_back},
    {"membarrier", NS, .prepare = join_alone, .run = barrier},
    {"membarrier-busy", NS, .prepare = join_both, .run = barrier},
    {"fault-4k", NS, .first = 4096, .prepare = make_memory, .run = touch, .piece_max = 4096, .tidy = empty},
    {"fault-2m", NS, .first = 2 << 20, .prepare = make_memory, .run = touch, .piece_max = 32, .tidy = empty},
    {"userfaultfd", NS, .first = 4096, .prepare = have_supplier, .run = load, .piece_max = 1024, .tidy = empty},
};

int main(int count, char **words) { return measure_main(count, words, rows, sizeof rows / sizeof rows[0]); }

/* Rows of memory: faults, bandwidths, latencies, the clock's frequency. */
#include "connection.h"
#include "measure.h"

#include <fcntl.h>
#include <sys/mman.h>

static const size_t page = 4096, mebi = 1 << 20;

static void nothing(const struct row *row) { (void)row; }

/* The sums are stored here, so that the compiler keeps them. */
static volatile uint64_t sink;

/* Anonymous memory with resident pages. */
static void *populated(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ensure(memory != MAP_FAILED, "mmap");
    return memory;
}

/* Shuffles numbers. */
static void shuffle(uint32_t *numbers, size_t count) {
    uint64_t state = 88172645463325252;
    for (size_t last = count - 1; last > 0; last--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t other = state % (last + 1);
        uint32_t kept = numbers[last];
        numbers[last] = numbers[other], numbers[other] = kept;
    }
}

/* --- A cached file --- */

static char file[64];
static int file_fd;

static void make_file(const struct row *row) {
    size_t bytes = (size_t)row->first * mebi;
    /* The bytes of one write become a folio of ext4, and a folio is mapped at once. */
    static uint64_t chunk[1 << 10];
    strcpy(file, "/tmp/crosscheck-XXXXXX");
    int fd = (int)must(mkstemp(file), "mkstemp");
    for (size_t done = 0; done < bytes; done += sizeof chunk) {
        for (size_t index = 0; index < sizeof chunk / 8; index++) chunk[index] = done / 8 + index;
        ensure(write(fd, chunk, sizeof chunk) == sizeof chunk, "write");
    }
    close(fd);
    file_fd = (int)must(open(file, O_RDWR), "open");
}

static void remove_file(const struct row *row) {
    (void)row;
    unlink(file);
}

static char *map_file(const struct row *row) {
    char *view = mmap(NULL, (size_t)row->first * mebi, PROT_READ, MAP_SHARED, file_fd, 0);
    ensure(view != MAP_FAILED, "mmap");
    return view;
}

static void map_and_store(const struct row *row, long operations) {
    size_t bytes = (size_t)row->first * mebi;
    while (operations--) {
        volatile char *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
        ensure(view != MAP_FAILED, "mmap");
        for (size_t at = 0; at < bytes / 10; at += 16384) view[at] = 1;
        must(munmap((void *)view, bytes), "munmap");
    }
}

static uint32_t *order;

static void make_file_and_order(const struct row *row) {
    make_file(row);
    size_t pages = (size_t)row->first * mebi / page;
    order = malloc(pages * sizeof *order);
    for (size_t number = 0; number < pages; number++) order[number] = (uint32_t)(number * page);
    shuffle(order, pages);
}

static void touch_pages(const struct row *row, long operations) {
    size_t bytes = (size_t)row->first * mebi;
    while (operations--) {
        volatile char *view = map_file(row);
        for (size_t number = 0; number < bytes / page; number++) (void)view[order[number]];
        must(munmap((void *)view, bytes), "munmap");
    }
}

static void map_and_unmap(const struct row *row, long operations) {
    while (operations--) must(munmap(map_file(row), (size_t)row->first * mebi), "munmap");
}

/* --- Protection faults --- */

static volatile char *forbidden;

static volatile long faults_wanted;

/* Returns to the store, which faults again, until the wanted number of faults has occurred. */
static void count_fault(int number) {
    (void)number;
    if (faults_wanted <= 0) _exit(99);
    if (--faults_wanted == 0) mprotect((void *)forbidden, page, PROT_READ | PROT_WRITE);
}

static void handle_nothing(int number) { (void)number; }

static void forbid(const struct row *row) {
    (void)row;
    forbidden = populated(page);
    must(mprotect((void *)forbidden, page, PROT_READ), "mprotect");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_fault;
    must(sigaction(SIGSEGV, &action, NULL), "sigaction");
    memset(&action, 0, sizeof action);
    action.sa_handler = handle_nothing;
    must(sigaction(SIGUSR1, &action, NULL), "sigaction");
}

static void store_and_ask(const struct row *row, long operations) {
    (void)row;
    pid_t own = getpid();
    faults_wanted = operations;
    *forbidden = 1;
    must(mprotect((void *)forbidden, page, PROT_READ), "mprotect");
    while (operations--) must(kill(own, 0), "kill");
}

static void signal_self(const struct row *row, long operations) {
    (void)row;
    pid_t own = getpid();
    while (operations--) must(kill(own, SIGUSR1), "kill");
}

/* --- Bytes between two processes --- */

static int receiver, orders;
static char *message;

static void serve(const struct row *row, int from, int to) {
    int order_pipe[2];
    must(pipe(order_pipe), "pipe");
    message = populated((size_t)row->first);
    if (fork_helper(1) == 0) {
        close(to);
        close(order_pipe[1]);
        uint64_t count;
        while (read(order_pipe[0], &count, sizeof count) == sizeof count) {
            while (count--) {
                for (long sent = 0; sent < row->first;) {
                    sent += must(write(from, message + sent, (size_t)(row->first - sent)), "write");
                }
            }
        }
        _exit(0);
    }
    close(from);
    close(order_pipe[0]);
    receiver = to, orders = order_pipe[1];
}

static void serve_pipe(const struct row *row) {
    int ends[2];
    must(pipe(ends), "pipe");
    serve(row, ends[1], ends[0]);
}

static void serve_unix(const struct row *row) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    serve(row, ends[0], ends[1]);
}

static void serve_tcp(const struct row *row) {
    int ends[2], bytes = 1 << 20;
    connect_tcp(ends);
    must(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), "SO_SNDBUF");
    must(setsockopt(ends[1], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), "SO_RCVBUF");
    serve(row, ends[0], ends[1]);
}

static void receive(const struct row *row, long operations) {
    uint64_t count = (uint64_t)operations;
    must(write(orders, &count, sizeof count), "write");
    while (operations--) {
        for (long received = 0; received < row->first;) {
            long part = must(read(receiver, message + received, (size_t)(row->first - received)), "read");
            ensure(part > 0, "the sender is gone");
            received += part;
        }
    }
}

/* --- Loops over memory --- */

/* Turns of 32 elements as ours, because shorter ones are slower: their few loads are predicted less far. The elements
/* are not
 * volatile, so that a load and its addition may be one instruction; but no two loads may: it is compiled without
 * vectors and reassociation. Two sums, by turns. */
#define ADD(at, step) sums[0] += from[at], sums[1] += from[at + step], sums[0] += from[at + 2 * step], \
                      sums[1] += from[at + 3 * step]
#define SUM_OF_TURNS(element, step, additions) \
    element sums[2] = {0}; \
    for (const element *from = memory, *end = from + bytes / sizeof *from; from < end; from += 32) { additions; } \
    return sums[0] + sums[1]
#define ALL ADD(0, 1), ADD(4, 1), ADD(8, 1), ADD(12, 1), ADD(16, 1), ADD(20, 1), ADD(24, 1), ADD(28, 1)

__attribute__((noinline))
static uint64_t sum_of_integers(const void *memory, size_t bytes) { SUM_OF_TURNS(uint32_t, 1, ALL); }

__attribute__((noinline))
static uint64_t sum_of_fourth_integers(const void *memory, size_t bytes) {
    SUM_OF_TURNS(uint32_t, 4, (ADD(0, 4), ADD(16, 4)));
}

__attribute__((noinline))
static uint64_t sum_of_words(const void *memory, size_t bytes) { SUM_OF_TURNS(uint64_t, 1, ALL); }

/* The words for explicit stores and copies: volatile, so that no two stores become one. */
typedef volatile uint32_t integer;

enum { PIECE = 8 << 20 };
static char *area, *copy_area;
static size_t next;

/* A piece's turn: where it begins in an area of `row->first` MiB. */
static size_t turn(const struct row *row) {
    size_t at = next;
    next = (next + PIECE) % ((size_t)row->first * mebi);
    return at;
}

static void make_area(const struct row *row) { area = populated((size_t)row->first * mebi); }

static void read_integers(const struct row *row, long operations) {
    while (operations--) {
        const char *piece = area + turn(row);
        sink = row->second == 1 ? sum_of_integers(piece, PIECE) : sum_of_fourth_integers(piece, PIECE);
    }
}

static void write_integers(const struct row *row, long operations) {
    while (operations--) {
        integer *to = (integer *)(area + turn(row));
        if (row->second == 1) {
            /* Backwards within turns of 128. */
            for (integer *end = to + PIECE / 4; to < end; to += 128) {
                for (int last = 127; last > 0; last -= 8) {
                    to[last] = 7, to[last - 1] = 7, to[last - 2] = 7, to[last - 3] = 7;
                    to[last - 4] = 7, to[last - 5] = 7, to[last - 6] = 7, to[last - 7] = 7;
                }
            }
        } else {
            for (integer *end = to + PIECE / 4; to < end; to += 16) {
                to[0] = 7, to[4] = 7, to[8] = 7, to[12] = 7;
            }
        }
    }
}

static void read_and_write_integers(const struct row *row, long operations) {
    while (operations--) {
        uint32_t sums[2] = {0};
        integer *at = (integer *)(area + turn(row));
        for (integer *end = at + PIECE / 4; at < end; at += 16) {
            sums[0] += at[0], at[0] = 7, sums[1] += at[4], at[4] = 7;
            sums[0] += at[8], at[8] = 7, sums[1] += at[12], at[12] = 7;
        }
        sink = sums[0] + sums[1];
    }
}

static void zero(const struct row *row, long operations) {
    while (operations--) {
        memset(area, 0, (size_t)row->first * mebi);
        __asm__ volatile("" : : "r"(area) : "memory");
    }
}

/* The copy starts at a page, or `row->second` bytes behind its start. */
static void make_areas(const struct row *row) {
    make_area(row);
    copy_area = populated((size_t)row->first * mebi + page);
    copy_area += row->second;
}

static void copy_by_library(const struct row *row, long operations) {
    while (operations--) {
        memcpy(copy_area, area, (size_t)row->first * mebi);
        __asm__ volatile("" : : "r"(copy_area) : "memory");
    }
}

static void copy_integers(const struct row *row, long operations) {
    while (operations--) {
        size_t at = turn(row);
        const integer *from = (const integer *)(area + at), *end = from + PIECE / 4;
        for (integer *to = (integer *)(copy_area + at); from < end; from += 8, to += 8) {
            to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3];
            to[4] = from[4], to[5] = from[5], to[6] = from[6], to[7] = from[7];
        }
    }
}

static void copy_fourth_integers(const struct row *row, long operations) {
    while (operations--) {
        size_t at = turn(row);
        const integer *from = (const integer *)(area + at), *end = from + PIECE / 4;
        for (integer *to = (integer *)(copy_area + at); from < end; from += 16, to += 16) {
            to[0] = from[0], to[4] = from[4], to[8] = from[8], to[12] = from[12];
        }
    }
}

/* --- Files by their words --- */

static char *buffer;
enum { READ = 64 << 10 };

static void make_file_and_buffer(const struct row *row) {
    make_file(row);
    buffer = populated(READ);
}

static void read_on(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        long count = must(read(file_fd, buffer, READ), "read");
        if (count == 0) {
            must(lseek(file_fd, 0, SEEK_SET), "lseek");
            count = must(read(file_fd, buffer, READ), "read");
        }
        sink = sum_of_words(buffer, (size_t)count);
    }
}

static void open_read_close(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        int fd = (int)must(open(file, O_RDONLY), "open");
        uint64_t total = 0;
        long count;
        while ((count = must(read(fd, buffer, READ), "read")) > 0) total += sum_of_words(buffer, (size_t)count);
        sink = total;
        close(fd);
    }
}

static void make_file_and_map(const struct row *row) {
    make_file(row);
    area = map_file(row);
    sink = sum_of_words(area, (size_t)row->first * mebi);
}

static void read_mapped(const struct row *row, long operations) {
    while (operations--) sink = sum_of_words(area + turn(row), PIECE);
}

static void open_map_close(const struct row *row, long operations) {
    size_t bytes = (size_t)row->first * mebi;
    while (operations--) {
        int fd = (int)must(open(file, O_RDONLY), "open");
        void *view = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        ensure(view != MAP_FAILED, "mmap");
        sink = sum_of_words(view, bytes);
        must(munmap(view, bytes), "munmap");
        close(fd);
    }
}

/* --- Latencies --- */

static void **place;

/* A ring of pointers 128 bytes apart through `row->first` KiB, forwards, or in random order. */
static void make_ring(const struct row *row) {
    size_t bytes = (size_t)row->first * 1024, places = bytes / 128;
    char *memory = populated(bytes);
    uint32_t *tour = malloc(places * sizeof *tour);
    for (size_t number = 0; number < places; number++) tour[number] = (uint32_t)number;
    if (row->second) shuffle(tour, places);
    for (size_t number = 0; number < places; number++) {
        size_t from = tour[number], to = tour[(number + 1) % places];
        *(void **)(memory + from * 128) = memory + to * 128;
    }
    place = (void **)(memory + tour[0] * 128UL);
    free(tour);
}

#define FIVE(at) at = *at, at = *at, at = *at, at = *at, at = *at
#define TWENTY_FIVE(at) FIVE(at), FIVE(at), FIVE(at), FIVE(at), FIVE(at)

/* 100 load instructions, so that the stride of each is too far for a prefetcher. */
static void follow(const struct row *row, long operations) {
    (void)row;
    void **at = place;
    for (; operations >= 100; operations -= 100) TWENTY_FIVE(at), TWENTY_FIVE(at), TWENTY_FIVE(at), TWENTY_FIVE(at);
    while (operations--) at = *at;
    place = at;
    __asm__ volatile("" : : "r"(at));
}

static void add(const struct row *row, long operations) {
    (void)row;
    uint64_t total = 0, one = 1;
    while (operations--) {
#if defined __x86_64__
        __asm__ volatile(".rept 200\n add %1, %0\n .endr" : "+r"(total) : "r"(one));
#elif defined __aarch64__
        __asm__ volatile(".rept 200\n add %0, %0, %1\n .endr" : "+r"(total) : "r"(one));
#endif
    }
    sink = total;
}

/* --- The rows --- */

#define US .unit = "us"
#define NS .unit = "ns"
#define MB .unit = "MB/s"
#define OF_FILE .first = 64, .clean = remove_file
#define OF_PIECES .quantity = PIECE

/* `main` knows the sizes of the caches. */
static struct row rows[] = {
    {"mmap-latency", US, OF_FILE, .prepare = make_file, .run = map_and_store},
    {"prot-fault", US, .prepare = forbid, .run = store_and_ask, .subtracted = signal_self},
    {"page-fault", US, .quantity = 4096, .first = 16, .prepare = make_file_and_order, .run = touch_pages,
     .subtracted = map_and_unmap, .clean = remove_file},
    {"pipe-bandwidth", MB, .quantity = 65536, .first = 65536, .prepare = serve_pipe, .run = receive},
    {"af-unix-bandwidth", MB, .quantity = 65536, .first = 65536, .prepare = serve_unix, .run = receive},
    {"tcp-bandwidth", MB, .quantity = 1e7, .first = 10000000, .prepare = serve_tcp, .run = receive},
    {"file-reread", MB, OF_FILE, .quantity = READ, .prepare = make_file_and_buffer, .run = read_on},
    {"file-open-close", MB, OF_FILE, .quantity = 64 << 20, .prepare = make_file_and_buffer, .run = open_read_close},
    {"mmap-reread", MB, OF_FILE, OF_PIECES, .prepare = make_file_and_map, .run = read_mapped},
    {"mmap-open-close", MB, OF_FILE, .quantity = 64 << 20, .prepare = make_file, .run = open_map_close},
    {"bcopy-libc", MB, .quantity = 64 << 20, .first = 64, .prepare = make_areas, .run = copy_by_library},
    {"bcopy-hand", MB, OF_PIECES, .first = 64, .prepare = make_areas, .run = copy_integers},
    {"aligned-bcopy-libc", MB, .quantity = 64 << 20, .first = 64, .second = 1920, .prepare = make_areas, .run = copy_by_library},
    {"partial-bcopy-hand", MB, OF_PIECES, .first = 64, .prepare = make_areas, .run = copy_fourth_integers},
    {"memory-read", MB, OF_PIECES, .first = 256, .second = 1, .prepare = make_area, .run = read_integers},
    {"memory-write", MB, OF_PIECES, .first = 256, .second = 1, .prepare = make_area, .run = write_integers},
    {"partial-mmap-read", MB, OF_PIECES, .first = 256, .second = 4, .prepare = make_area, .run = read_integers},
    {"partial-mmap-write", MB, OF_PIECES, .first = 256, .second = 4, .prepare = make_area, .run = write_integers},
    {"partial-mmap-read-write", MB, OF_PIECES, .first = 256, .prepare = make_area, .run = read_and_write_integers},
    {"bzero-copy", MB, .quantity = 256 << 20, .first = 256, .prepare = make_area, .run = zero},
    {"mhz", .unit = "MHz", .quantity = 200, .prepare = nothing, .run = add},
    {"l1-cache", NS, .prepare = make_ring, .run = follow},
    {"l2-cache", NS, .prepare = make_ring, .run = follow},
    {"main-memory", NS, .first = 192 << 10, .prepare = make_ring, .run = follow},
    {"l1-cache-random", NS, .second = 1, .prepare = make_ring, .run = follow},
    {"l2-cache-random", NS, .second = 1, .prepare = make_ring, .run = follow},
    {"main-memory-random", NS, .first = 192 << 10, .second = 1, .prepare = make_ring, .run = follow},
};

int main(int count, char **words) {
    long first_kib = sysconf(_SC_LEVEL1_DCACHE_SIZE) / 1024, second_kib = sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if (!strncmp(rows[row].name, "l1-cache", 8)) rows[row].first = first_kib / 2;
        if (!strncmp(rows[row].name, "l2-cache", 8)) {
            rows[row].first = second_kib / 4 > 2 * first_kib ? second_kib / 4 : 2 * first_kib;
        }
    }
    return measure_main(count, words, rows, sizeof rows / sizeof rows[0]);
}

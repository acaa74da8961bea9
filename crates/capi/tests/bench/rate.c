/* Measures the rate from one process to another over a pipe, by write and read. Prints a line for each size of a write: the
 * median of the rounds. The loop is that of crates/streams/examples/rate.rs, which calls the Rust library. Linked with the
 * library, the pipe is a STREAMS pipe; with HEADWATER_PIPE=0 it is the kernel's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, ROOM = 65536 };

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Returns the seconds for that many writes of that size. */
static double round_of(size_t size, long writes) {
    static char bytes[ROOM];
    int ends[2], status;
    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        long left = writes * (long)size;
        close(ends[1]);
        while (left > 0) {
            ssize_t count = read(ends[0], bytes, ROOM);
            if (count <= 0)
                _exit(3);
            left -= count;
        }
        _exit(0);
    }
    close(ends[0]);
    double start = now_s();
    for (long at = 0; at < writes; at++)
        if (write(ends[1], bytes, size) != (ssize_t)size)
            exit(4);
    waitpid(child, &status, 0);
    double took = now_s() - start;
    close(ends[1]);
    if (status != 0)
        exit(5);
    return took;
}

int main(void) {
    for (size_t size = 1; size <= 4096; size *= 4) {
        long writes = size < 64 ? 4000000 : (long)(256000000 / size);
        double seen[ROUNDS];
        for (int at = 0; at < ROUNDS; at++)
            seen[at] = round_of(size, writes);
        qsort(seen, ROUNDS, sizeof *seen, by_size);
        double median = seen[ROUNDS / 2];
        printf("%6zu bytes: %8.1f ns a write, %9.1f MB/s\n", size, median * 1e9 / (double)writes, (double)size * (double)writes / median / 1e6);
        fflush(stdout);
    }
    return 0;
}

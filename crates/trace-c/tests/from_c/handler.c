/* The first event of each thread, and of the program, is in a signal handler, which must not allocate. C11. */
#include <headwater/trace.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

HEADWATER_EVENT(test_first, "test:first", (u64, number), (str, text));

static __thread volatile sig_atomic_t in_handler;
static volatile sig_atomic_t number;

/* The C library's own names for its allocator, which the functions below replace for the library of the tracer too. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void __libc_free(void *old);

static void check(void) {
    static const char said[] = "a signal handler allocates\n";
    if (in_handler) {
        if (write(2, said, sizeof said - 1) < 0) {
            _exit(2);
        }
        abort();
    }
}

void *malloc(size_t bytes) {
    check();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    check();
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
    check();
    return __libc_realloc(old, bytes);
}

void free(void *old) {
    check();
    __libc_free(old);
}

static void handle(int signal) {
    (void)signal;
    in_handler = 1;
    test_first((uint64_t)number, "in a handler");
    in_handler = 0;
}

static void *run(void *unused) {
    raise(SIGUSR1);
    return unused;
}

int main(int argc, char **argv) {
    int failed = hw_trace_init();
    int count = argc == 3 ? atoi(argv[2]) : 0;
    if (failed != 0) {
        fprintf(stderr, "no session: %d\n", failed);
        return 1;
    }
    signal(SIGUSR1, handle);
    for (int thread = 0; thread < count; thread++) {
        pthread_t one;
        number = thread;
        if (pthread_create(&one, NULL, run, NULL) != 0 || pthread_join(one, NULL) != 0) {
            return 1;
        }
    }
    return 0;
}

/* The program of `cargo xtask trace-peers`: emits COUNT events, at most RATE a second (0: as many as it can), with WORK
 * rounds of arithmetic before each. Bursts with events take turns with bursts of the same work without, so that both see
 * the same machine. Prints, in ns: when the first event had been emitted (CLOCK_MONOTONIC), the time from then to the
 * end, the CPU time of the process, and what the bursts with and those without took: time, or CPU time if there is a
 * RATE. */
#ifndef PACED_H
#define PACED_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 100 };

static inline uint64_t ns_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void wait_until(uint64_t ns) {
    const struct timespec due = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
    }
}

/* Not inlined: in two places the same loop may take different times. */
__attribute__((noinline)) static uint64_t work(uint64_t sum, uint64_t rounds) {
    while (rounds-- > 0) {
        __asm__ volatile("" : "+r"(sum));
        sum = sum << 7 ^ sum >> 3;
    }
    return sum;
}

/* `event` has the fields `number`, `sum` and 2. */
#define PACED_MAIN(event) \
    int main(int argc, char **argv) { \
        if (argc != 4) { \
            fprintf(stderr, "usage: %s COUNT RATE WORK\n", argv[0]); \
            return 2; \
        } \
        const uint64_t count = strtoull(argv[1], NULL, 10), rate = strtoull(argv[2], NULL, 10); \
        const uint64_t rounds = strtoull(argv[3], NULL, 10); \
        const clockid_t clock = rate > 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; \
        uint64_t first = 0, with = 0, without = 0; \
        for (uint64_t number = 0; number < count;) { \
            const int is_second = number / BURST % 2; \
            for (int turn = 0; turn < 2; turn++) { \
                const uint64_t start = ns_of(clock); \
                if (turn == is_second) { \
                    for (int at = 0; at < BURST; at++, number++) { \
                        const uint32_t sum = (uint32_t)work(number, rounds); \
                        event; \
                        if (number == 0) { \
                            first = ns_of(CLOCK_MONOTONIC); \
                        } \
                    } \
                    with += ns_of(clock) - start; \
                } else { \
                    for (int at = 0; at < BURST; at++) { \
                        work(number, rounds); \
                    } \
                    without += ns_of(clock) - start; \
                } \
            } \
            if (rate > 0) { \
                wait_until(first + number * 1000000000u / rate); \
            } \
        } \
        const uint64_t end = ns_of(CLOCK_MONOTONIC), cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID); \
        printf("%llu %llu %llu %llu %llu\n", (unsigned long long)first, (unsigned long long)(end - first), \
               (unsigned long long)cpu, (unsigned long long)with, (unsigned long long)without); \
        return 0; \
    }

#endif

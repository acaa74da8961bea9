/* Times a peer for `cargo experiment trace-cost`: each line of the input is the name of an arm and how many
 * batches; the output is a line with the ns per event of each. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BATCH = 20000 };

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Answers until the input ends; `event` is inlined into the timed loop. */
#define MEASURE_MAIN(arm, event) \
    int main(void) { \
        char name[64]; \
        int batches; \
        while (scanf("%63s %d", name, &batches) == 2) { \
            if (strcmp(name, arm) != 0) { \
                fprintf(stderr, "there is no arm %s\n", name); \
                return 1; \
            } \
            while (batches-- > 0) { \
                const uint64_t start = now_ns(); \
                for (uint64_t number = 0; number < BATCH; number++) { \
                    __asm__ volatile("" : "+r"(number)); \
                    event; \
                } \
                printf("%.4f ", (double)(now_ns() - start) / BATCH); \
            } \
            puts(""); \
            fflush(stdout); \
        } \
        return 0; \
    }

#endif

/* Measures how long a program runs from its start to its end: microseconds, the median and the least of many. `start_up PROGRAM`.
 * The library that the variable LIBRARY names is preloaded into every second run, so that both are measured by turns. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 500 };

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    static double seen[2][ROUNDS];
    char variable[4096];
    const char *library = getenv("LIBRARY");
    if (argc != 2 || library == NULL)
        return 2;
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", library);
    char *with[] = {variable, NULL}, *without[] = {NULL}, *arguments[] = {argv[1], NULL};
    for (int round = 0; round < 2 * ROUNDS; round++) {
        pid_t child;
        int status;
        double start = now_us();
        if (posix_spawn(&child, argv[1], NULL, NULL, arguments, round % 2 ? with : without) != 0)
            return 3;
        waitpid(child, &status, 0);
        if (status != 0)
            return 4;
        seen[round % 2][round / 2] = now_us() - start;
    }
    for (int kind = 0; kind < 2; kind++) {
        qsort(seen[kind], ROUNDS, sizeof(double), by_size);
        printf("start to end of %s %s the library: median %.0f us, least %.0f us\n", argv[1], kind ? "with" : "without",
               seen[kind][ROUNDS / 2], seen[kind][0]);
    }
    printf("more with it: median %.0f us, least %.0f us\n", seen[1][ROUNDS / 2] - seen[0][ROUNDS / 2], seen[1][0] - seen[0][0]);
    return 0;
}

/* The same rows as `headwater run lmbench`, in plain C: how one is timed, and the command line. Each program of this
 * folder is one file that includes this one, fills a table of rows and returns measure_main(...) from main.
 *
 * It is written from the definitions in docs/lmbench.md and from manual pages alone, so that an error of ours would have to
 * be made twice. `cargo xtask crosscheck-lmbench` builds the programs, runs them and Headwater by turns, and compares.
 *
 * Each row runs in a process of its own. It is prepared, repeated until a batch lasts a 20th of its time, warmed
 * up, and timed in 20 batches, of which the median counts. If a part is subtracted, batches of both alternate.
 */
#ifndef MEASURE_H
#define MEASURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The measured row. */
struct row {
    const char *name;
    /* "us" and "ns": time of one; "MB/s": 10^6 bytes per second; "MHz": 10^6 per second. */
    const char *unit;
    /* The count of one operation: hops, calls, bytes. 0 stands for 1. */
    double quantity;
    /* The share of the time that is timed, where tidying takes long. 0 stands for 1, or for a half where a part is subtracted. */
    double timed_share;
    /* Any two parameters, for the functions below. */
    long first, second;
    void (*prepare)(const struct row *row);
    void (*run)(const struct row *row, long operations);
    /* The part that is subtracted, or null. */
    void (*subtracted)(const struct row *row, long operations);
    /* Called untimed before each `piece_max` operations; 0 and null if there is nothing to tidy. */
    long piece_max;
    void (*tidy)(const struct row *row, long operations);
    /* Removes names that the row has made; may be null. */
    void (*clean)(const struct row *row);
};

enum { BATCHES = 20, WARM_UP_BATCHES = 6 };

/* Time of all batches together, and least time of a batch, ns. */
static double time_ns = 80e6;
static const double batch_ns_min = 200e3;

/* Ends the process if a call has failed. */
__attribute__((unused)) static long must(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

__attribute__((unused)) static void ensure(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* The CPUs of the process that is timed and of its helpers; -1 where the scheduler decides. */
static int cpus[2] = {-1, -1};

static void bind_to(int cpu) {
    if (cpu < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    must(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

/* A child that cannot outlive its parent, on the CPU of the parent (0) or the other (1); 0 in the child. */
__attribute__((unused)) static pid_t fork_helper(int which_cpu) {
    pid_t parent = getpid(), pid = (pid_t)must(fork(), "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        bind_to(cpus[which_cpu]);
    }
    return pid;
}

__attribute__((unused)) static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double timed_ns(const struct row *row, long operations, void (*run)(const struct row *, long)) {
    double total = 0;
    while (operations > 0) {
        long piece = row->piece_max && operations > row->piece_max ? row->piece_max : operations;
        if (row->tidy) row->tidy(row, piece);
        double start = now_ns();
        run(row, piece);
        total += now_ns() - start;
        operations -= piece;
    }
    return total;
}

static int ascending(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

/* The duration or bandwidth for `ns` and `operations`. */
static double value_of(const struct row *row, double ns, long operations) {
    double quantity = row->quantity > 0 ? row->quantity : 1, one = ns / (double)operations;
    if (!strcmp(row->unit, "us")) return one / quantity / 1e3;
    if (!strcmp(row->unit, "ns")) return one / quantity;
    return quantity / one * 1e3;
}

static double measure(const struct row *row) {
    double share = row->timed_share > 0 ? row->timed_share : row->subtracted ? 0.5 : 1;
    double batch_ns = time_ns / BATCHES * share;
    if (batch_ns < batch_ns_min) batch_ns = batch_ns_min;
    long operations = 1;
    for (;;) {
        double ns = timed_ns(row, operations, row->run);
        if (ns >= batch_ns / 4) {
            operations = (long)(batch_ns / (ns / (double)operations)) + 1;
            break;
        }
        operations *= ns > batch_ns / 32 ? 2 : 8;
    }
    double warm_up = 0;
    for (int batch = 0; batch < WARM_UP_BATCHES; batch++) warm_up += timed_ns(row, operations, row->run);
    operations = (long)(batch_ns / (warm_up / WARM_UP_BATCHES / (double)operations)) + 1;

    double values[BATCHES];
    /* The first batch is no sample. */
    for (int batch = -1; batch < BATCHES; batch++) {
        double ns = timed_ns(row, operations, row->run);
        if (row->subtracted) ns -= timed_ns(row, operations, row->subtracted);
        if (batch >= 0) values[batch] = value_of(row, ns, operations);
    }
    qsort(values, BATCHES, sizeof values[0], ascending);
    return (values[BATCHES / 2 - 1] + values[BATCHES / 2]) / 2;
}

/* Measures a row in a process of its own and prints it; 0 if that went well. */
static int measure_apart(const struct row *row) {
    fflush(stdout);
    pid_t pid = fork_helper(0);
    if (pid == 0) {
        row->prepare(row);
        double value = measure(row);
        if (row->clean) row->clean(row);
        printf("%s %.6g %s\n", row->name, value, row->unit);
        exit(0);
    }
    int status;
    must(waitpid(pid, &status, 0), "waitpid");
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* `PROGRAM --list` prints the names, `PROGRAM [--time MS] [--cpus FIRST,SECOND] [ROW]...` measures these rows, or all. */
__attribute__((unused)) static int measure_main(int count, char **words, const struct row *rows, size_t rows_count) {
    int first = 1, failed = 0;
    if (count > 1 && !strcmp(words[1], "--list")) {
        for (size_t row = 0; row < rows_count; row++) puts(rows[row].name);
        return 0;
    }
    for (; first + 1 < count && !strncmp(words[first], "--", 2); first += 2) {
        if (!strcmp(words[first], "--time")) {
            time_ns = atof(words[first + 1]) * 1e6;
        } else {
            ensure(!strcmp(words[first], "--cpus"), "--list, --time MS, --cpus FIRST,SECOND");
            ensure(sscanf(words[first + 1], "%d,%d", &cpus[0], &cpus[1]) == 2, "--cpus FIRST,SECOND");
        }
    }
    for (size_t row = 0; row < rows_count; row++) {
        int wanted = first >= count;
        for (int word = first; word < count; word++) wanted |= !strcmp(words[word], rows[row].name);
        if (wanted) failed |= measure_apart(&rows[row]);
    }
    return failed;
}

#endif

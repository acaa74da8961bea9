/* The threads of a test, which are started, and joined within a time. */
#ifndef JOINED_H
#define JOINED_H
#include "check.h"
#include <pthread.h>

MAY_BE_UNUSED static pthread_t started(void *(*run)(void *), void *argument) {
    pthread_t thread;
    NEEDS(pthread_create(&thread, NULL, run, argument) == 0, "pthread_create");
    return thread;
}

/* Joins a thread within the time, or ends the test, because the test cannot wait for a thread that never ends. */
MAY_BE_UNUSED static void *joined_within(pthread_t thread, int seconds, const char *rule) {
    struct timespec end;
    void *value = NULL;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += seconds;
    NEEDS(pthread_timedjoin_np(thread, &value, &end) == 0, rule);
    return value;
}

#endif

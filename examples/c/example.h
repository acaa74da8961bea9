/* What the examples share: a check that ends the program with status 1, and a pipe of streams. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <unistd.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition) ((condition) ? (void)0 : example_failed(__FILE__, __LINE__, #condition))

static inline void example_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s: errno %d (%s)\n", file, line, condition, errno, strerror(errno));
    exit(1);
}

/* Makes a pipe of streams, and has a signal end the program if it has not ended after ten seconds. */
static inline void stream_pipe(int ends[2])
{
    alarm(10);
    CHECK(pipe(ends) == 0);
    if (isastream(ends[0]) != 1) {
        fprintf(stderr, "pipe(2) has made a pipe of the kernel: set HEADWATER_PIPE=1, and link with -lheadwater\n");
        exit(1);
    }
}

/* A part of a message: a text without its NUL. */
static inline struct strbuf part_of(const char *text)
{
    struct strbuf part;

    part.maxlen = 0;
    part.len = (int)strlen(text);
    part.buf = (char *)text;
    return part;
}

/* Room for a part. */
static inline struct strbuf room_of(char *bytes, int count)
{
    struct strbuf room;

    room.maxlen = count;
    room.len = -1;
    room.buf = bytes;
    return room;
}

/* Whether a received part is this text. */
static inline int is_text(const struct strbuf *part, const char *text)
{
    return part->len == (int)strlen(text) && memcmp(part->buf, text, strlen(text)) == 0;
}

#endif

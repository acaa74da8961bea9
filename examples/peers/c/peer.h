/* An external transport of Headwater in C or C++: the line protocol, the payload and the two patterns, so that a program
 * only has to define how its end is opened, how a message is sent and how one is received.
 * docs/external-transports.md is the protocol that this file implements.
 *
 * Include it once, define the five transport_ functions below, and return peer_serve(&description) from main. They are
 * static, so that the compiler can put them into the timed loops. One thread, no allocation while a round runs.
 */
#ifndef HEADWATER_PEER_H
#define HEADWATER_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* For what is called for every message. Where a mitigation of the processor makes each return after a system call dear, a function
 * between the loop and the call costs as much as a tenth of a message through a pipe. */
#define PEER_INLINE static inline __attribute__((always_inline))

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stamps are little endian: this file would have to swap them"
#endif

/* The description of the program. */
struct peer_description {
    const char *name;     /* the name of its rows */
    const char *version;  /* the version of the measured library */
    const char *summary;  /* one line */
    const char *blocking; /* how an end waits */
    uint64_t size_max;    /* largest message, bytes; 0: no limit */
};

/* The order to open an end. */
struct peer_order {
    bool receiver;        /* or else the sender */
    bool rtt;             /* or else stream: no answers */
    size_t size;          /* bytes per message */
    char directory[4096]; /* for files and sockets with a path */
    char token[128];      /* a name that is unique to this launch */
};

enum peer_answer { PEER_OK = 0, PEER_ERROR = -1, PEER_SKIPPED = 1 };

/* To be defined by the program. Each but the last returns PEER_OK, or the result of peer_fail. */

/* Opens the end; the receiver is called first and must not wait for the sender. May return PEER_SKIPPED. */
static int transport_prepare(const struct peer_order *order);
/* Called before the first round: both ends are open now. */
static int transport_connected(void);
PEER_INLINE int transport_send(const unsigned char *message, size_t size);
PEER_INLINE int transport_receive(unsigned char *buffer, size_t size);
/* Removes all names that would outlive the process. May be called from a signal handler, and twice. */
static void transport_remove(void);

/* Messages for the user. */

static char peer_message[512];

/* Keeps a message for the reply; returns PEER_ERROR. */
__attribute__((format(printf, 1, 2), cold)) static int peer_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(peer_message, sizeof peer_message, format, arguments);
    va_end(arguments);
    return PEER_ERROR;
}

static inline uint64_t peer_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The payload. Buffers have at least 8 bytes, so that a stamp is always one store. */

static inline uint64_t peer_stamp(uint64_t sequence)
{
    uint64_t spread = (sequence + 1) * 0x9E3779B97F4A7C15u;
    return spread ^ (spread >> 32);
}

static inline void peer_store(unsigned char *at, uint64_t stamp) { memcpy(at, &stamp, 8); }

static inline uint64_t peer_load(const unsigned char *at)
{
    uint64_t stamp;
    memcpy(&stamp, at, 8);
    return stamp;
}

static inline void peer_write_stamps(unsigned char *buffer, size_t size, uint64_t sequence)
{
    uint64_t stamp = peer_stamp(sequence);
    peer_store(buffer, stamp);
    if (size >= 16) {
        for (size_t position = 4096; position + 16 <= size; position += 4096)
            peer_store(buffer + position, stamp);
        peer_store(buffer + size - 8, stamp);
    }
}

static inline bool peer_holds_stamps(const unsigned char *buffer, size_t size, uint64_t sequence)
{
    uint64_t stamp = peer_stamp(sequence);
    uint64_t difference = peer_load(buffer) ^ stamp;
    if (size < 8)
        return (difference & ((UINT64_C(1) << (8 * size)) - 1)) == 0;
    if (size >= 16) {
        for (size_t position = 4096; position + 16 <= size; position += 4096)
            difference |= peer_load(buffer + position) ^ stamp;
        difference |= peer_load(buffer + size - 8) ^ stamp;
    }
    return difference == 0;
}

struct peer_payload {
    size_t size;
    unsigned char *buffer;   /* the bytes sent and received */
    unsigned char *expected; /* for the full check */
};

static unsigned char *peer_background(size_t size)
{
    size_t length = size < 8 ? 8 : size;
    unsigned char *buffer = (unsigned char *)malloc(length);
    for (size_t position = 0; buffer != NULL && position < length; position++)
        buffer[position] = (unsigned char)(position % 251);
    return buffer;
}

static void peer_poison(struct peer_payload *payload)
{
    for (size_t position = 0; position < payload->size; position++)
        payload->buffer[position] = (unsigned char)~(position % 251);
}

__attribute__((cold, noinline)) static int peer_wrong(const struct peer_payload *payload, uint64_t sequence)
{
    unsigned char should[8];
    char has[17] = "", wants[17] = "";
    peer_store(should, peer_stamp(sequence));
    for (size_t i = 0; i < 8 && i < payload->size; i++) {
        sprintf(has + 2 * i, "%02x", payload->buffer[i]);
        sprintf(wants + 2 * i, "%02x", should[i]);
    }
    return peer_fail("wrong payload: message %llu of %zu bytes starts with %s and should with %s",
                     (unsigned long long)sequence, payload->size, has, wants);
}

static inline int peer_receive(struct peer_payload *payload, uint64_t sequence, bool full)
{
    if (full)
        peer_poison(payload);
    int answer = transport_receive(payload->buffer, payload->size);
    if (answer != PEER_OK)
        return answer;
    if (!peer_holds_stamps(payload->buffer, payload->size, sequence))
        return peer_wrong(payload, sequence);
    if (full) {
        peer_write_stamps(payload->expected, payload->size, sequence);
        if (memcmp(payload->buffer, payload->expected, payload->size) != 0)
            return peer_wrong(payload, sequence);
    }
    return PEER_OK;
}

/* Single durations: exact below 2048 ns, then to one part in 1024. */

enum { PEER_CELLS = 1024 * 42 };

static uint64_t peer_cells[PEER_CELLS];

static inline void peer_record(uint64_t duration_ns)
{
    unsigned shift = duration_ns < 2048 ? 0 : 53u - (unsigned)__builtin_clzll(duration_ns);
    uint64_t cell = shift * 1024u + (duration_ns >> shift);
    peer_cells[cell < PEER_CELLS ? cell : PEER_CELLS - 1]++;
}

/* The longest duration that falls into a cell. */
static uint64_t peer_cell_ns(unsigned cell)
{
    unsigned shift = cell < 2048 ? 0 : cell / 1024u - 1;
    return ((uint64_t)(cell - shift * 1024u + 1) << shift) - 1;
}

/* The patterns. */

struct peer_round {
    uint64_t first, batch, batches;
    bool full, timed;
};

/* Runs a round. stamps_ns has room for a time per batch. */
static int peer_run(const struct peer_order *order, const struct peer_round *round, struct peer_payload *payload,
                    uint64_t *start_ns, uint64_t *stamps_ns)
{
    uint64_t sequence = round->first;
    uint64_t last_ns = *start_ns = peer_now_ns();
    for (uint64_t batch = 0; batch < round->batches; batch++) {
        for (uint64_t end = sequence + round->batch; sequence < end; sequence++) {
            int answer;
            if (order->receiver) {
                answer = peer_receive(payload, sequence, round->full);
                if (answer == PEER_OK && order->rtt)
                    answer = transport_send(payload->buffer, payload->size);
            } else {
                peer_write_stamps(payload->buffer, payload->size, sequence);
                answer = transport_send(payload->buffer, payload->size);
                if (answer == PEER_OK && order->rtt)
                    answer = peer_receive(payload, sequence, round->full);
                if (round->timed) {
                    uint64_t this_ns = peer_now_ns();
                    peer_record(this_ns - last_ns);
                    last_ns = this_ns;
                }
            }
            if (answer != PEER_OK)
                return answer;
        }
        stamps_ns[batch] = peer_now_ns();
    }
    return PEER_OK;
}

/* JSON, the part that requests need. */

static const char *peer_skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
        at++;
    return at;
}

/* Behind the string that begins at the quote `at`, or NULL. Copies it without its escapes if `out` is given. */
static const char *peer_string(const char *at, char *out, size_t room)
{
    size_t length = 0;
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        char byte = *at;
        if (byte == '\0')
            return NULL;
        if (byte == '\\') {
            const char *plain = "\"\\/bfnrt", *meant = "\"\\/\b\f\n\r\t";
            const char *found = *++at == '\0' ? NULL : strchr(plain, *at);
            unsigned code;
            if (found != NULL) {
                byte = meant[found - plain];
            } else if (*at == 'u' && sscanf(at + 1, "%4x", &code) == 1 && code < 0x80) {
                byte = (char)code; /* the harness escapes control characters only */
                at += 4;
            } else {
                return NULL;
            }
        }
        if (out != NULL) {
            if (length + 1 >= room)
                return NULL;
            out[length++] = byte;
        }
    }
    if (out != NULL)
        out[length] = '\0';
    return at + 1;
}

/* Behind any value, or NULL. */
static const char *peer_value(const char *at)
{
    unsigned depth = 0;
    do {
        at = peer_skip_space(at);
        if (*at == '"') {
            if ((at = peer_string(at, NULL, 0)) == NULL)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if ((*at == '}' || *at == ']' || *at == ',' || *at == ':') && depth > 0) {
            depth -= *at == '}' || *at == ']';
            at++;
        } else {
            size_t length = strcspn(at, " \t\r\n,:{}[]\"");
            if (length == 0)
                return NULL;
            at += length;
        }
    } while (depth > 0);
    return at;
}

/* The value of a member of the object `line`, or NULL. */
static const char *peer_member(const char *line, const char *name)
{
    const char *at = peer_skip_space(line);
    if (*at++ != '{')
        return NULL;
    for (;;) {
        char key[64];
        const char *begin = peer_skip_space(at);
        if ((at = peer_string(begin, key, sizeof key)) == NULL) {
            if ((at = peer_string(begin, NULL, 0)) == NULL)
                return NULL;
            key[0] = '\0'; /* longer than any known key */
        }
        at = peer_skip_space(at);
        if (*at++ != ':')
            return NULL;
        at = peer_skip_space(at);
        if (strcmp(key, name) == 0)
            return at;
        if ((at = peer_value(at)) == NULL)
            return NULL;
        at = peer_skip_space(at);
        if (*at++ != ',')
            return NULL;
    }
}

static bool peer_text(const char *line, const char *name, char *out, size_t room)
{
    const char *at = peer_member(line, name);
    return at != NULL && peer_string(at, out, room) != NULL;
}

static bool peer_number(const char *line, const char *name, uint64_t *number)
{
    const char *at = peer_member(line, name);
    char *end;
    if (at == NULL || *at < '0' || *at > '9')
        return false;
    errno = 0;
    *number = strtoull(at, &end, 10);
    return errno == 0 && *end != '.' && *end != 'e' && *end != 'E';
}

static bool peer_flag(const char *line, const char *name)
{
    const char *at = peer_member(line, name);
    return at != NULL && strncmp(at, "true", 4) == 0;
}

static void peer_print(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

/* The end of the input during a round, in which the program does not read it: SIGIO arrives, and the process ends.
 * Outside of a round the input is read in order, so that `echo '{"op":"describe"}' | program` gets its answer. */

static bool peer_input_is_closed(void)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) != 0;
}

static void peer_on_input(int signal_number)
{
    (void)signal_number;
    if (peer_input_is_closed()) {
        transport_remove();
        _exit(0);
    }
}

static void peer_watch_input(bool on)
{
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    fcntl(STDIN_FILENO, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC);
    if (on)
        peer_on_input(0); /* it may have closed before */
}

/* The requests. */

static void peer_answer_failure(int answer)
{
    printf(answer == PEER_SKIPPED ? "{\"op\":\"skipped\",\"reason\":" : "{\"op\":\"error\",\"message\":");
    peer_print(peer_message);
    puts("}");
}

static void peer_describe(const struct peer_description *description)
{
    printf("{\"op\":\"description\",\"protocol\":1,\"patterns\":[\"stream\",\"rtt\"],\"name\":");
    peer_print(description->name);
    printf(",\"version\":");
    peer_print(description->version);
    printf(",\"summary\":");
    peer_print(description->summary);
    printf(",\"blocking\":");
    peer_print(description->blocking);
    if (description->size_max > 0)
        printf(",\"size_max\":%llu", (unsigned long long)description->size_max);
    puts("}");
}

static int peer_prepare(const char *line, struct peer_order *order, struct peer_payload *payload)
{
    char role[16], pattern[16];
    uint64_t size;
    if (!peer_text(line, "role", role, sizeof role) || !peer_text(line, "pattern", pattern, sizeof pattern) ||
        !peer_number(line, "size", &size) || size == 0 ||
        !peer_text(line, "directory", order->directory, sizeof order->directory) ||
        !peer_text(line, "token", order->token, sizeof order->token))
        return peer_fail("cannot make sense of prepare");
    order->receiver = strcmp(role, "receiver") == 0;
    order->rtt = strcmp(pattern, "rtt") == 0;
    order->size = (size_t)size;
    payload->size = order->size;
    payload->buffer = peer_background(order->size);
    payload->expected = peer_background(order->size);
    if (payload->buffer == NULL || payload->expected == NULL)
        return peer_fail("no memory for messages of %zu bytes", order->size);
    return transport_prepare(order);
}

static double peer_seconds(struct timeval before, struct timeval after)
{
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_usec - before.tv_usec) / 1e6;
}

static int peer_do_round(const char *line, const struct peer_order *order, struct peer_payload *payload)
{
    struct peer_round round;
    struct rusage before, after;
    uint64_t start_ns;
    if (!peer_number(line, "first", &round.first) || !peer_number(line, "batch", &round.batch) ||
        !peer_number(line, "batches", &round.batches) || payload->buffer == NULL)
        return peer_fail("cannot make sense of run");
    round.full = peer_flag(line, "full_check");
    round.timed = peer_flag(line, "histogram") && order->rtt && !order->receiver;
    uint64_t *stamps_ns = (uint64_t *)calloc(round.batches, sizeof *stamps_ns);
    if (stamps_ns == NULL)
        return peer_fail("no memory for %llu stamps", (unsigned long long)round.batches);
    memset(peer_cells, 0, sizeof peer_cells);

    getrusage(RUSAGE_SELF, &before);
    int answer = peer_run(order, &round, payload, &start_ns, stamps_ns);
    uint64_t end_ns = peer_now_ns();
    getrusage(RUSAGE_SELF, &after);

    if (answer == PEER_OK) {
        printf("{\"op\":\"result\",\"start_ns\":%llu,\"end_ns\":%llu,\"stamps_ns\":[",
               (unsigned long long)start_ns, (unsigned long long)end_ns);
        for (uint64_t batch = 0; batch < round.batches; batch++)
            printf("%s%llu", batch > 0 ? "," : "", (unsigned long long)stamps_ns[batch]);
        printf("],\"histogram\":[");
        const char *comma = "";
        for (unsigned cell = 0; cell < PEER_CELLS; cell++) {
            if (peer_cells[cell] > 0) {
                printf("%s[%llu,%llu]", comma, (unsigned long long)peer_cell_ns(cell),
                       (unsigned long long)peer_cells[cell]);
                comma = ",";
            }
        }
        printf("],\"cost\":{\"user_s\":%.6f,\"system_s\":%.6f,\"voluntary_switches\":%ld,"
               "\"involuntary_switches\":%ld}}\n",
               peer_seconds(before.ru_utime, after.ru_utime), peer_seconds(before.ru_stime, after.ru_stime),
               after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw);
    }
    free(stamps_ns);
    return answer;
}

/* Answers requests until the input ends. Returns the exit status of the program. */
static int peer_serve(const struct peer_description *description)
{
    static struct peer_order order;
    struct peer_payload payload = {0, NULL, NULL};
    struct sigaction action;
    char *line = NULL, op[16];
    size_t room = 0;
    bool connected = false;

    memset(&action, 0, sizeof action);
    action.sa_handler = peer_on_input;
    action.sa_flags = SA_RESTART;
    sigaction(SIGIO, &action, NULL);
    fcntl(STDIN_FILENO, F_SETOWN, getpid());
    signal(SIGPIPE, SIG_IGN);

    while (getline(&line, &room, stdin) > 0) {
        int answer = PEER_OK;
        if (!peer_text(line, "op", op, sizeof op)) {
            answer = peer_fail("a request without op");
        } else if (strcmp(op, "describe") == 0) {
            peer_describe(description);
        } else if (strcmp(op, "prepare") == 0) {
            answer = peer_prepare(line, &order, &payload);
            if (answer == PEER_OK)
                puts("{\"op\":\"ready\"}");
        } else if (strcmp(op, "run") == 0) {
            peer_watch_input(true);
            if (!connected)
                answer = transport_connected();
            connected = true;
            if (answer == PEER_OK)
                answer = peer_do_round(line, &order, &payload);
            peer_watch_input(false);
        } else if (strcmp(op, "finish") == 0) {
            break;
        } else {
            answer = peer_fail("unknown request %s", op);
        }
        if (answer != PEER_OK)
            peer_answer_failure(answer);
        fflush(stdout);
    }
    transport_remove();
    return 0;
}

#endif

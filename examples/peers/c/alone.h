/* A measurement by a program alone: no part of Headwater starts, times or counts anything. Included by kernel.h.
 *
 *     PROGRAM MECHANISM --alone stream|rtt SIZE SENDER,RECEIVER [MILLISECONDS]
 *
 * opens both ends, forks, binds the sender and the receiver to the two CPUs and prints one line that begins with the
 * figure and its unit.
 *
 * stream: messages/s. One volume of messages over the time from the sender's first send to the receiver's last receive. If
 * more than a sixteenth of it was in flight at the last send, the figure is that of filling and emptying the buffers, and a
 * larger volume follows.
 * rtt: ns per exchange, the median of 20 batches.
 *
 * A round that calibrates and one that warms up come first, over the same connection.
 */
#ifndef HEADWATER_ALONE_H
#define HEADWATER_ALONE_H

#include <sys/mman.h>
#include <sys/prctl.h>

enum {
    ALONE_BATCHES = 20,
    ALONE_MESSAGES_FIRST = 64,
    ALONE_VOLUME_MIN = 16, /* a volume is at least so many times what was in flight at the last send */
    ALONE_VOLUMES_MAX = 6,
    ALONE_SECONDS_MAX = 60, /* then SIGALRM ends the program */
};

/* Shared by the two processes. Written by the sender between the bytes on the two pipes, by the receiver before and after,
 * but for `received`, which the receiver alone writes. */
struct alone_round {
    volatile uint64_t received; /* messages since the program began; apart from what the sender uses while it sends */
    unsigned char apart[120];
    uint64_t first, count; /* the messages */
    uint64_t start_ns;     /* before the first send */
    uint64_t in_flight;    /* messages that were sent and not received, after the last send */
    uint64_t stamps_ns[ALONE_BATCHES];
    bool failed;
    char message[sizeof peer_message];
};

struct alone {
    struct alone_round *round;
    struct peer_payload payload;
    int go, done; /* this process's ends of two pipes, a byte for each round */
    bool rtt;
};

static int alone_send_all(struct peer_payload *payload, uint64_t first, uint64_t count)
{
    for (uint64_t sequence = first; sequence < first + count; sequence++) {
        peer_write_stamps(payload->buffer, payload->size, sequence);
        if (transport_send(payload->buffer, payload->size) != PEER_OK)
            return PEER_ERROR;
    }
    return PEER_OK;
}

static int alone_receive_all(struct peer_payload *payload, uint64_t first, uint64_t count, volatile uint64_t *received)
{
    for (uint64_t sequence = first; sequence < first + count; sequence++) {
        if (transport_receive(payload->buffer, payload->size) != PEER_OK)
            return PEER_ERROR;
        if (!peer_holds_stamps(payload->buffer, payload->size, sequence))
            return peer_wrong(payload, sequence);
        *received = sequence + 1;
    }
    return PEER_OK;
}

static int alone_ask_all(struct peer_payload *payload, uint64_t first, uint64_t count)
{
    for (uint64_t sequence = first; sequence < first + count; sequence++) {
        peer_write_stamps(payload->buffer, payload->size, sequence);
        if (transport_send(payload->buffer, payload->size) != PEER_OK ||
            transport_receive(payload->buffer, payload->size) != PEER_OK)
            return PEER_ERROR;
        if (!peer_holds_stamps(payload->buffer, payload->size, sequence))
            return peer_wrong(payload, sequence);
    }
    return PEER_OK;
}

static int alone_answer_all(struct peer_payload *payload, uint64_t first, uint64_t count)
{
    for (uint64_t sequence = first; sequence < first + count; sequence++) {
        if (transport_receive(payload->buffer, payload->size) != PEER_OK)
            return PEER_ERROR;
        if (!peer_holds_stamps(payload->buffer, payload->size, sequence))
            return peer_wrong(payload, sequence);
        if (transport_send(payload->buffer, payload->size) != PEER_OK)
            return PEER_ERROR;
    }
    return PEER_OK;
}

static int alone_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? PEER_OK : kernel_fail("sched_setaffinity");
}

/* The sender's process: does a round for each byte, until the receiver closes the pipe. */
static int alone_sender(struct alone *alone)
{
    struct alone_round *round = alone->round;
    char byte;
    while (read(alone->go, &byte, 1) == 1) {
        int answer = PEER_OK;
        uint64_t sequence = round->first;
        round->start_ns = peer_now_ns();
        for (unsigned batch = 0; batch < ALONE_BATCHES && answer == PEER_OK; batch++) {
            uint64_t end = round->first + round->count * (batch + 1) / ALONE_BATCHES;
            answer = (alone->rtt ? alone_ask_all : alone_send_all)(&alone->payload, sequence, end - sequence);
            round->stamps_ns[batch] = peer_now_ns();
            sequence = end;
        }
        round->in_flight = alone->rtt ? 0 : sequence - round->received;
        if (answer != PEER_OK) {
            memcpy(round->message, peer_message, sizeof peer_message);
            round->failed = true;
            return 1;
        }
        if (write(alone->done, &byte, 1) != 1)
            return 1;
    }
    return 0;
}

/* Does the next `count` messages in the receiver's process. */
static int alone_do_round(struct alone *alone, uint64_t count, uint64_t *end_ns)
{
    struct alone_round *round = alone->round;
    char byte = 0;
    round->first += round->count;
    round->count = count;
    if (write(alone->go, &byte, 1) != 1)
        return kernel_fail("write to the sender");
    int answer = alone->rtt ? alone_answer_all(&alone->payload, round->first, count)
                            : alone_receive_all(&alone->payload, round->first, count, &round->received);
    *end_ns = peer_now_ns();
    if (answer == PEER_OK && read(alone->done, &byte, 1) != 1)
        answer = peer_fail("the sender has ended");
    /* A stream ends with its last receive, an exchange with the sender's. */
    if (alone->rtt)
        *end_ns = round->stamps_ns[ALONE_BATCHES - 1];
    return answer;
}

static int alone_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median time of one exchange, of the batches of a round, ns. */
static double alone_median_ns(const struct alone_round *round)
{
    double times_ns[ALONE_BATCHES];
    uint64_t last_ns = round->start_ns, done = 0;
    for (unsigned batch = 0; batch < ALONE_BATCHES; batch++) {
        uint64_t end = round->count * (batch + 1) / ALONE_BATCHES;
        times_ns[batch] = (double)(round->stamps_ns[batch] - last_ns) / (double)(end - done);
        last_ns = round->stamps_ns[batch], done = end;
    }
    qsort(times_ns, ALONE_BATCHES, sizeof times_ns[0], alone_compare);
    return (times_ns[ALONE_BATCHES / 2 - 1] + times_ns[ALONE_BATCHES / 2]) / 2;
}

/* The receiver's process: leads through the rounds and prints the figure. */
static int alone_receiver(struct alone *alone, double time_ns)
{
    struct alone_round *round = alone->round;
    uint64_t count = ALONE_MESSAGES_FIRST, end_ns;
    double elapsed_ns = 0, message_ns;
    for (;;) {
        if (alone_do_round(alone, count, &end_ns) != PEER_OK)
            return PEER_ERROR;
        elapsed_ns = (double)(end_ns - round->start_ns);
        message_ns = elapsed_ns / (double)count;
        if (elapsed_ns >= time_ns / 8)
            break;
        double factor = time_ns / 4 / elapsed_ns;
        count = (uint64_t)((double)count * (factor < 2 ? 2 : factor > 16 ? 16 : factor));
    }
    count = (uint64_t)(time_ns / 4 / message_ns) + ALONE_BATCHES;
    if (alone_do_round(alone, count, &end_ns) != PEER_OK)
        return PEER_ERROR;
    message_ns = (double)(end_ns - round->start_ns) / (double)count;

    count = (uint64_t)(time_ns / message_ns) + ALONE_BATCHES;
    for (unsigned volumes = 0; volumes < ALONE_VOLUMES_MAX; volumes++) {
        if (alone_do_round(alone, count, &end_ns) != PEER_OK)
            return PEER_ERROR;
        elapsed_ns = (double)(end_ns - round->start_ns);
        if (round->in_flight > count / ALONE_VOLUME_MIN)
            count = 2 * ALONE_VOLUME_MIN * round->in_flight;
        else if (elapsed_ns < time_ns / 2) /* the warm-up was disturbed */
            count = (uint64_t)((double)count * time_ns / elapsed_ns);
        else
            break;
    }
    if (alone->rtt)
        printf("%.1f ns (%llu exchanges in %.1f ms)\n", alone_median_ns(round), (unsigned long long)round->count,
               elapsed_ns / 1e6);
    else
        printf("%.1f messages/s (%llu messages in %.1f ms, %llu of them in flight at the last send)\n",
               (double)round->count * 1e9 / elapsed_ns, (unsigned long long)round->count, elapsed_ns / 1e6,
               (unsigned long long)round->in_flight);
    return PEER_OK;
}

static int alone_measure(size_t size, bool rtt, const int cpus[2], double time_ns)
{
    struct alone alone = {.payload = {size, peer_background(size), NULL}, .rtt = rtt};
    struct end ends[2] = {NO_END, NO_END};
    char path[sizeof meeting.sun_path];
    const char *directory = getenv("TMPDIR");
    int go[2], done[2];
    snprintf(path, sizeof path, "%s/c-%s-%d", directory == NULL ? "/tmp" : directory, mechanism->name, (int)getpid());
    if (mechanism->open(mechanism, &(struct opening){size, rtt, path}, ends) != PEER_OK)
        return PEER_ERROR;
    void *shared = mmap(NULL, sizeof *alone.round, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || alone.payload.buffer == NULL || pipe(go) != 0 || pipe(done) != 0)
        return kernel_fail("mmap or pipe");
    alone.round = (struct alone_round *)shared;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return kernel_fail("fork");
    bool is_sender = child == 0;
    own = ends[is_sender ? SENDER : RECEIVER];
    close_end(&ends[is_sender ? RECEIVER : SENDER]);
    alone.go = is_sender ? go[0] : go[1], alone.done = is_sender ? done[1] : done[0];
    close(is_sender ? go[1] : go[0]);
    close(is_sender ? done[0] : done[1]);
    if (alone_pin(cpus[is_sender ? SENDER : RECEIVER]) != PEER_OK)
        return PEER_ERROR;
    if (is_sender) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(alone_sender(&alone));
    }
    alarm(ALONE_SECONDS_MAX);
    int answer = alone_receiver(&alone, time_ns);
    if (alone.round->failed)
        return peer_fail("the sender: %s", alone.round->message);
    return answer;
}

static int alone_main(int argc, char **argv)
{
    int cpus[2];
    bool rtt = argc > 0 && strcmp(argv[0], "rtt") == 0;
    if (argc < 3 || argc > 4 || (!rtt && strcmp(argv[0], "stream") != 0) || strtoul(argv[1], NULL, 10) == 0 ||
        sscanf(argv[2], "%d,%d", &cpus[SENDER], &cpus[RECEIVER]) != 2) {
        fputs("after --alone: stream|rtt SIZE SENDER,RECEIVER [MILLISECONDS], such as rtt 64 0,1\n", stderr);
        return 2;
    }
    double time_ms = argc == 4 ? atof(argv[3]) : 1000;
    if (!rtt && mechanism->loses) {
        fprintf(stderr, "c-%s loses messages: no stream\n", mechanism->name);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (alone_measure(strtoul(argv[1], NULL, 10), rtt, cpus, time_ms * 1e6) != PEER_OK) {
        fprintf(stderr, "c-%s: %s\n", mechanism->name, peer_message);
        return 1;
    }
    return 0;
}

#endif

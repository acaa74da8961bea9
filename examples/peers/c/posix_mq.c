/* POSIX message queues, one for each direction. On Linux a queue descriptor is a file descriptor (mq_overview(7)). */
#include "ipc_namespace.h"
#include "kernel.h"
#include <mqueue.h>

/* Messages in a queue: the kernel's default, or as many as RLIMIT_MSGQUEUE permits. */
enum { DEPTH = 10 };

static int transport_send(const unsigned char *message, size_t size)
{
    return mq_send(own.out, (const char *)message, size, 0) == 0 ? PEER_OK : kernel_fail("mq_send");
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    return mq_receive(own.in, (char *)buffer, size, NULL) == (ssize_t)size ? PEER_OK : kernel_fail("mq_receive");
}

static bool open_queue(long depth, size_t size, int *reads, int *writes)
{
    struct mq_attr attributes = {.mq_maxmsg = depth, .mq_msgsize = (long)size};
    char name[32];
    snprintf(name, sizeof name, "/c-posix-mq-%d", (int)getpid());
    *writes = mq_open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (*writes < 0)
        return false;
    *reads = mq_open(name, O_RDONLY | O_CLOEXEC);
    mq_unlink(name);
    return *reads >= 0;
}

static int open_queues(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    (void)m;
    if (enter_namespace() != PEER_OK || raise_limit("/proc/sys/fs/mqueue/msg_max", DEPTH) != PEER_OK ||
        raise_limit("/proc/sys/fs/mqueue/msgsize_max", opening->size) != PEER_OK)
        return PEER_ERROR;
    for (long depth = DEPTH; depth > 0; depth--) {
        ends[SENDER] = ends[RECEIVER] = NO_END;
        if (open_queue(depth, opening->size, &ends[RECEIVER].in, &ends[SENDER].out) &&
            (!opening->duplex || open_queue(depth, opening->size, &ends[SENDER].in, &ends[RECEIVER].out)))
            return PEER_OK;
        int error = errno;
        close_end(&ends[SENDER]);
        close_end(&ends[RECEIVER]);
        errno = error;
        if (error != EMFILE)
            break;
    }
    return kernel_fail("mq_open");
}

int main(int argc, char **argv)
{
    static const struct mechanism mechanisms[] = {
        {"posix-mq", "POSIX message queue from a plain C loop", "sleeps in mq_receive and mq_send", 16 << 20, false,
         open_queues},
    };
    return kernel_main(argc, argv, mechanisms, 1);
}

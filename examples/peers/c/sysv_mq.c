/* System V message queues, one for each direction, each message copied behind the type word that the calls require. */
#include "ipc_namespace.h"
#include "kernel.h"
#include <sys/ipc.h>
#include <sys/msg.h>

/* The type, then the message; made at the first message, which is before the timed ones. */
static struct envelope {
    long type;
    unsigned char message[];
} *envelope;

static bool make_envelope(size_t size)
{
    if (envelope == NULL && (envelope = (struct envelope *)calloc(1, sizeof *envelope + size)) != NULL)
        envelope->type = 1;
    return envelope != NULL;
}

static int transport_send(const unsigned char *message, size_t size)
{
    if (!make_envelope(size))
        return peer_fail("no memory");
    memcpy(envelope->message, message, size);
    envelope->type = 1;
    return msgsnd(own.queue_out, envelope, size, 0) == 0 ? PEER_OK : kernel_fail("msgsnd");
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    if (!make_envelope(size))
        return peer_fail("no memory");
    if (msgrcv(own.queue_in, envelope, size, 0, 0) != (ssize_t)size)
        return kernel_fail("msgrcv");
    memcpy(buffer, envelope->message, size);
    return PEER_OK;
}

static int open_queues(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    (void)m;
    if (enter_namespace() != PEER_OK || raise_limit("/proc/sys/kernel/msgmax", opening->size) != PEER_OK ||
        raise_limit("/proc/sys/kernel/msgmnb", 2 * opening->size) != PEER_OK)
        return PEER_ERROR;
    ends[SENDER].queue_out = ends[RECEIVER].queue_in = msgget(IPC_PRIVATE, 0600);
    if (opening->duplex)
        ends[SENDER].queue_in = ends[RECEIVER].queue_out = msgget(IPC_PRIVATE, 0600);
    /* The sender's process enters the namespace, which ends with the last process in it, and the queues with it. */
    ends[SENDER].namespace_of = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
    if (ends[SENDER].queue_out < 0 || (opening->duplex && ends[SENDER].queue_in < 0) || ends[SENDER].namespace_of < 0)
        return kernel_fail("msgget");
    return PEER_OK;
}

int main(int argc, char **argv)
{
    static const struct mechanism mechanisms[] = {
        {"sysv-mq", "System V message queue from a plain C loop", "sleeps in msgrcv and msgsnd", 1 << 30, false,
         open_queues},
    };
    return kernel_main(argc, argv, mechanisms, 1);
}

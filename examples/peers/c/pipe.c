/* The kernel's pipe in a plain C loop: the cross-check of Headwater's own `pipe` rows, which it must match within 5 %.
 *
 * The two ends are separate programs, so the receiver makes the pipes and the sender opens them through /proc.
 */
#define _GNU_SOURCE
#include "peer.h"

static int read_end = -1, write_end = -1;
/* The receiver's copies of the ends that the sender opens. */
static int others[2] = {-1, -1};
static char note[4096 + 128 + 16];

static int open_receiver(const struct peer_order *order)
{
    int forth[2], back[2] = {-1, -1};
    if (pipe2(forth, O_CLOEXEC) != 0 || (order->rtt && pipe2(back, O_CLOEXEC) != 0))
        return peer_fail("pipe2: %s", strerror(errno));
    read_end = forth[0], others[0] = forth[1];
    write_end = back[1], others[1] = back[0];
    FILE *file = fopen(note, "w");
    if (file == NULL)
        return peer_fail("%s: %s", note, strerror(errno));
    fprintf(file, "%d %d %d\n", (int)getpid(), others[0], others[1]);
    return fclose(file) == 0 ? PEER_OK : peer_fail("%s: %s", note, strerror(errno));
}

static int open_through_proc(int process, int descriptor, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
    return open(path, flags | O_CLOEXEC);
}

static int open_sender(const struct peer_order *order)
{
    int process, forth, back;
    FILE *file = fopen(note, "r");
    int count = file == NULL ? 0 : fscanf(file, "%d %d %d", &process, &forth, &back);
    if (file != NULL)
        fclose(file);
    unlink(note);
    if (count != 3)
        return peer_fail("%s: not written by a receiver", note);
    write_end = open_through_proc(process, forth, O_WRONLY);
    read_end = order->rtt ? open_through_proc(process, back, O_RDONLY) : -1;
    if (write_end < 0 || (order->rtt && read_end < 0))
        return peer_fail("/proc/%d/fd: %s", process, strerror(errno));
    return PEER_OK;
}

static int transport_prepare(const struct peer_order *order)
{
    snprintf(note, sizeof note, "%s/%s.pipe", order->directory, order->token);
    return order->receiver ? open_receiver(order) : open_sender(order);
}

static int transport_connected(void)
{
    /* Only now: a pipe whose last reader or writer is gone is closed for good. */
    for (int i = 0; i < 2; i++) {
        if (others[i] >= 0)
            close(others[i]);
    }
    return PEER_OK;
}

static int transport_send(const unsigned char *message, size_t size)
{
    while (size > 0) {
        ssize_t count = write(write_end, message, size);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return peer_fail("write: %s", strerror(errno));
        }
        message += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    while (size > 0) {
        ssize_t count = read(read_end, buffer, size);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return peer_fail("read: %s", strerror(errno));
        }
        if (count == 0)
            return peer_fail("the other end is gone");
        buffer += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static void transport_remove(void)
{
    if (note[0] != '\0')
        unlink(note);
}

int main(void)
{
    static const struct peer_description description = {
        "c-pipe", __VERSION__, "kernel pipe from a plain C loop", "sleeps in read and write", 0,
    };
    return peer_serve(&description);
}

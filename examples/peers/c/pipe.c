/* Pipes, FIFOs and a pseudo-terminal: what is used by read and write. */
#include "kernel.h"
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

/* The buffer of pipe-1m: the usual fs.pipe-max-size. */
enum { LARGE_BYTES = 1 << 20 };

static int transport_send(const unsigned char *message, size_t size)
{
    while (size > 0) {
        ssize_t count = write(own.out, message, size);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return kernel_fail("write");
        }
        message += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    while (size > 0) {
        ssize_t count = read(own.in, buffer, size);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return kernel_fail("read");
        }
        if (count == 0)
            return peer_fail("the other end is gone");
        buffer += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static int pipe_channel(const char *path, int *reads, int *writes)
{
    int both[2];
    (void)path;
    if (pipe2(both, O_CLOEXEC) != 0)
        return kernel_fail("pipe2");
    *reads = both[0], *writes = both[1];
    return PEER_OK;
}

static int large_pipe_channel(const char *path, int *reads, int *writes)
{
    int answer = pipe_channel(path, reads, writes);
    if (answer == PEER_OK && fcntl(*writes, F_SETPIPE_SZ, LARGE_BYTES) < 0)
        return kernel_fail("fcntl F_SETPIPE_SZ");
    return answer;
}

static int fifo_channel(const char *path, int *reads, int *writes)
{
    if (mkfifo(path, 0600) != 0)
        return kernel_fail("mkfifo");
    *reads = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *writes = open(path, O_WRONLY | O_CLOEXEC);
    unlink(path);
    if (*reads < 0 || *writes < 0 || fcntl(*reads, F_SETFL, 0) != 0)
        return kernel_fail(path);
    return PEER_OK;
}

static int socket_channel(const char *path, int *reads, int *writes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *writes = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if ((size_t)snprintf(name.sun_path, sizeof name.sun_path, "%s", path) >= sizeof name.sun_path)
        return peer_fail("%s is longer than the path of a socket", path);
    if (listener < 0 || *writes < 0 || bind(listener, (struct sockaddr *)&name, sizeof name) != 0)
        return kernel_fail("socket");
    bool connected = listen(listener, 1) == 0 && connect(*writes, (struct sockaddr *)&name, sizeof name) == 0;
    unlink(path);
    *reads = connected ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (*reads < 0 || shutdown(*reads, SHUT_WR) != 0 || shutdown(*writes, SHUT_RD) != 0)
        return kernel_fail("connect");
    close(listener);
    return PEER_OK;
}

/* Opens one or two one-way channels. */
static int open_channels(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    int (*channel)(const char *path, int *reads, int *writes) = pipe_channel;
    if (strcmp(m->name, "pipe-1m") == 0)
        channel = large_pipe_channel;
    else if (strcmp(m->name, "fifo") == 0)
        channel = fifo_channel;
    else if (strcmp(m->name, "fifo-socket") == 0)
        channel = socket_channel;
    int answer = channel(opening->path, &ends[RECEIVER].in, &ends[SENDER].out);
    if (answer == PEER_OK && opening->duplex)
        answer = channel(opening->path, &ends[SENDER].in, &ends[RECEIVER].out);
    return answer;
}

/* In raw mode; messages go from the terminal side to the master. */
static int open_pty(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    struct termios attributes;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    (void)m, (void)opening;
    if (master < 0 || unlockpt(master) != 0)
        return kernel_fail("posix_openpt");
    int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || tcgetattr(terminal, &attributes) != 0)
        return kernel_fail("ioctl TIOCGPTPEER");
    cfmakeraw(&attributes);
    attributes.c_cc[VMIN] = 1, attributes.c_cc[VTIME] = 0;
    if (tcsetattr(terminal, TCSANOW, &attributes) != 0)
        return kernel_fail("tcsetattr");
    ends[SENDER].out = ends[SENDER].in = terminal;
    ends[RECEIVER].out = ends[RECEIVER].in = master;
    return PEER_OK;
}

#define SLEEPS "sleeps in read and write"

int main(int argc, char **argv)
{
    static const struct mechanism mechanisms[] = {
        {"pipe", "kernel pipe from a plain C loop", SLEEPS, 0, false, open_channels},
        {"pipe-1m", "kernel pipe of 1 MiB from a plain C loop", SLEEPS, 0, false, open_channels},
        {"fifo", "FIFO from a plain C loop", SLEEPS, 0, false, open_channels},
        {"fifo-socket", "one-way Unix stream socket from a plain C loop", SLEEPS, 0, false, open_channels},
        {"pty", "pseudo-terminal from a plain C loop", SLEEPS, 0, false, open_pty},
    };
    return kernel_main(argc, argv, mechanisms, sizeof mechanisms / sizeof mechanisms[0]);
}

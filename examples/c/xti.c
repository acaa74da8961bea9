/*
 * A server and a client of the X/Open Transport Interface, in two processes, over the loop-back transport ticotsord: the client
 * connects, asks, gets an answer, and both release the connection in order.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <xti.h>

#include "example.h"

static const char ADDRESS[] = "adder";

/* A buffer that has these bytes. */
static struct netbuf bytes_of(const void *bytes, unsigned len)
{
    struct netbuf buffer;

    buffer.maxlen = buffer.len = len;
    buffer.buf = (void *)bytes;
    return buffer;
}

static int endpoint(const char *address, unsigned waiting)
{
    struct t_bind request;
    int fd = t_open("/dev/ticotsord", O_RDWR, NULL);

    CHECK(fd >= 0);
    request.addr = bytes_of(address, (unsigned)strlen(address));
    request.qlen = waiting;
    CHECK(t_bind(fd, &request, NULL) == 0);
    return fd;
}

/* Waits for the other end's release, and fetches it. */
static void receive_release(int fd)
{
    struct pollfd one;

    one.fd = fd;
    one.events = POLLIN;
    while (t_look(fd) != T_ORDREL)
        CHECK(poll(&one, 1, 10000) == 1);
    CHECK(t_rcvrel(fd) == 0);
}

static int client(void)
{
    int fd = endpoint("", 0), numbers[2] = {19, 23}, sum, flags;
    struct t_call *call = t_alloc(fd, T_CALL, T_ADDR);

    CHECK(call != NULL && call->addr.maxlen >= sizeof ADDRESS);
    memcpy(call->addr.buf, ADDRESS, strlen(ADDRESS));
    call->addr.len = (unsigned)strlen(ADDRESS);
    CHECK(t_connect(fd, call, NULL) == 0);
    CHECK(t_free(call, T_CALL) == 0);
    /* One message in two calls. */
    CHECK(t_snd(fd, &numbers[0], sizeof numbers[0], T_MORE) == sizeof numbers[0]);
    CHECK(t_snd(fd, &numbers[1], sizeof numbers[1], 0) == sizeof numbers[1]);
    CHECK(t_sndrel(fd) == 0);
    CHECK(t_rcv(fd, &sum, sizeof sum, &flags) == sizeof sum && flags == 0);
    CHECK(sum == 42);
    receive_release(fd);
    CHECK(t_getstate(fd) == T_IDLE);
    CHECK(t_close(fd) == 0);
    return 0;
}

/* Adds the numbers of one message. */
static void serve(int fd)
{
    int number, sum = 0, flags = T_MORE;

    while (flags & T_MORE) {
        CHECK(t_rcv(fd, &number, sizeof number, &flags) == sizeof number);
        sum += number;
    }
    /* Nothing more comes: a call that receives meets an event. */
    CHECK(t_rcv(fd, &number, sizeof number, &flags) == -1 && t_errno == TLOOK);
    receive_release(fd);
    CHECK(t_snd(fd, &sum, sizeof sum, 0) == sizeof sum);
    CHECK(t_sndrel(fd) == 0);
}

int main(void)
{
    int listener = endpoint(ADDRESS, 5), fd, status;
    struct t_call caller;
    char address[108];
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0)
        return client();
    fd = t_open("/dev/ticotsord", O_RDWR, NULL);
    CHECK(fd >= 0);
    memset(&caller, 0, sizeof caller);
    caller.addr = bytes_of(address, sizeof address);
    CHECK(t_listen(listener, &caller) == 0);
    CHECK(caller.addr.len > 0);
    caller.addr.len = 0;
    CHECK(t_accept(listener, fd, &caller) == 0);
    serve(fd);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(t_close(fd) == 0 && t_close(listener) == 0);
    puts("xti: ok");
    return 0;
}

/* Open files over a stream: I_SENDFD, I_RECVFD, I_E_RECVFD; ends of streams over a stream and over sockets (SCM_RIGHTS) (POSIX
 * I_SENDFD, STREAMS 4.2, 4.11). */
#include "stream.h"
#include <sys/socket.h>

static void any_file_is_passed(void) {
    open_ends();
    int kinds[3], sockets[2];
    kinds[0] = open("/dev/zero", O_RDONLY);
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    kinds[1] = sockets[0];
    kinds[2] = open("/tmp", O_RDONLY | O_DIRECTORY);
    for (int at = 0; at < 3; at++) {
        struct stat sent, received;
        struct strrecvfd file = {.fd = -1};
        in_context("kind %d", at);
        fstat(kinds[at], &sent);
        EXPECT(ioctl(near, I_SENDFD, kinds[at]), 0, "STREAMS 4.11: any open file");
        struct strpeek peek = {.ctlbuf = room(got.control_bytes, 8), .databuf = room(got.data_bytes, 8)};
        FAILS(ioctl(far, I_PEEK, &peek), EBADMSG, "POSIX I_PEEK: EBADMSG where a file is in front");
        EXPECT(ioctl(far, at == 1 ? I_E_RECVFD : I_RECVFD, &file), 0, "POSIX I_RECVFD");
        HOLDS(fstat(file.fd, &received) == 0 && sent.st_ino == received.st_ino && sent.st_dev == received.st_dev, "POSIX I_RECVFD: the same file");
        HOLDS(file.fd != kinds[at] && file.fd != near && file.fd != far, "POSIX I_RECVFD: a new descriptor");
        EXPECT(file.uid, getuid(), "POSIX I_RECVFD: the effective user of the sender");
        EXPECT(file.gid, getgid(), "POSIX I_RECVFD: the effective group of the sender");
        in_context("%s", "");
    }
}

static void errors(void) {
    open_ends();
    struct strrecvfd file;
    FAILS(ioctl(near, I_SENDFD, -1), EBADF, "POSIX I_SENDFD: EBADF");
    FAILS(ioctl(near, I_SENDFD, 999), EBADF, "POSIX I_SENDFD: EBADF");
    set_nonblocking(far, 1);
    FAILS(ioctl(far, I_RECVFD, &file), EAGAIN, "POSIX I_RECVFD: EAGAIN on an empty queue with O_NONBLOCK");
    EXPECT(put_message(near, "c", "d", 0), 0, "putmsg");
    FAILS(ioctl(far, I_RECVFD, &file), EBADMSG, "POSIX I_RECVFD: EBADMSG if another message is first");
    get_message(far);
    PARTS("c", "d", "POSIX I_RECVFD: a refused call took nothing");
    EXPECT(ioctl(near, I_SENDFD, near), 0, "I_SENDFD of the end itself");
    EXPECT(ioctl(far, I_RECVFD, &file), 0, "I_RECVFD");
    close(near);
    EXPECT(write(file.fd, "x", 1), 1, "STREAMS 4.2: the end that was passed is the last reference");
    EXPECT(read(far, got.data_bytes, 9), 1, "STREAMS 4.2: it is the same end");
    close(file.fd);
    FAILS(ioctl(far, I_RECVFD, &file), ENXIO, "STREAMS 4: ENXIO after the hang-up if empty");
    open_ends();
    close(far);
    on_signal(SIGPIPE, SIG_IGN, 0);
    HOLDS(ioctl(near, I_SENDFD, 0) == -1 && (errno == ENXIO || errno == EPIPE), "POSIX I_SENDFD: ENXIO after a hang-up");
}

static void it_keeps_its_place_among_messages(void) {
    open_ends();
    struct strrecvfd file;
    int null = open("/dev/null", O_RDWR);
    EXPECT(write(near, "before", 6), 6, "write");
    EXPECT(ioctl(near, I_SENDFD, null), 0, "I_SENDFD");
    EXPECT(write(near, "after", 5), 5, "write");
    FAILS(ioctl(far, I_RECVFD, &file), EBADMSG, "POSIX I_RECVFD: data are first");
    EXPECT(read(far, got.data_bytes, 100), 6, "POSIX read: stops before a passed file");
    FAILS(read(far, got.data_bytes, 100), EBADMSG, "POSIX read: EBADMSG for a passed file");
    EXPECT(ioctl(far, I_RECVFD, &file), 0, "I_RECVFD");
    EXPECT(read(far, got.data_bytes, 100), 5, "POSIX read: the data behind it");
    EXPECT(polled_for(far, POLLIN), 0, "nothing is left");
}

static void a_blocked_receiver_gets_it(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        struct strrecvfd file;
        if (ioctl(far, I_RECVFD, &file) != 0)
            _exit(1);
        _exit(write(file.fd, "by the child", 12) == 12 ? 0 : 2);
    }
    sleep_ms(50);
    int kernel[2];
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, kernel) == 0, "socketpair");
    EXPECT(ioctl(near, I_SENDFD, kernel[0]), 0, "I_SENDFD");
    EXPECT(read(kernel[1], got.data_bytes, 100), 12, "POSIX I_RECVFD: the receiver uses the file");
    EXPECT(ended_within(child, 2000), 0, "the receiver ends");
}

static int send_by_socket(int socket, const int *files, int count) {
    char control[CMSG_SPACE(8 * sizeof(int))] = {0}, byte = 'f';
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(header), files, (size_t)count * sizeof(int));
    return (int)sendmsg(socket, &message, 0);
}

static int receive_by_socket(int socket, int *files, int count) {
    char control[CMSG_SPACE(8 * sizeof(int))], byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, 0) != 1)
        return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS)
        return 0;
    int got_count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(files, CMSG_DATA(header), (size_t)(got_count < count ? got_count : count) * sizeof(int));
    return got_count;
}

static void an_end_over_a_socket(void) {
    open_ends();
    int sockets[2], null = open("/dev/null", O_RDONLY), files[8];
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    pid_t child = fork();
    if (child == 0) {
        close(near), close(far), close(null);
        int got_files[8] = {-1, -1};
        if (receive_by_socket(sockets[1], got_files, 8) != 2)
            _exit(1);
        if (isastream(got_files[1]) != 1 || isastream(got_files[0]) != 0)
            _exit(2);
        char text[9];
        if (read(got_files[1], text, 9) != 5 || memcmp(text, "hello", 5) != 0)
            _exit(3);
        if (put_message(got_files[1], "from", "child", 0) != 0)
            _exit(4);
        _exit(read(got_files[1], text, 9) == 0 ? 0 : 5);
    }
    files[0] = null, files[1] = far;
    EXPECT(send_by_socket(sockets[0], files, 2), 1, "sendmsg with SCM_RIGHTS");
    close(far);
    EXPECT(write(near, "hello", 5), 5, "STREAMS 4.2: the end is in the socket, and is not hung up");
    get_message(near);
    PARTS("from", "child", "STREAMS 4.2: an end that was passed over a socket is a stream");
    close(near);
    EXPECT(ended_within(child, 3000), 0, "STREAMS 4.2: the child reads, writes, and sees the hang-up");
}

static void an_end_in_flight_that_is_dropped(void) {
    open_ends();
    int sockets[2];
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    EXPECT(send_by_socket(sockets[0], &far, 1), 1, "sendmsg with SCM_RIGHTS");
    close(far);
    set_nonblocking(near, 1);
    FAILS(read(near, got.data_bytes, 9), EAGAIN, "STREAMS 4.2: the end in the socket is a reference");
    close(sockets[0]), close(sockets[1]);
    sleep_ms(20);
    EXPECT(read(near, got.data_bytes, 9), 0, "STREAMS 4.2: the last reference anywhere hangs up");
}

static void an_end_over_a_stream(void) {
    int other[2];
    struct strrecvfd file;
    open_ends();
    open_pipe(other);
    EXPECT(ioctl(near, I_SENDFD, other[1]), 0, "I_SENDFD of a stream");
    close(other[1]);
    EXPECT(write(other[0], "x", 1), 1, "STREAMS 4.2: the end is in the stream, and is not hung up");
    EXPECT(ioctl(far, I_RECVFD, &file), 0, "I_RECVFD of a stream");
    EXPECT(isastream(file.fd), 1, "POSIX I_RECVFD: a stream");
    EXPECT(read(file.fd, got.data_bytes, 9), 1, "POSIX I_RECVFD: the stream that was sent");
    close(file.fd);
    EXPECT(read(other[0], got.data_bytes, 9), 0, "STREAMS 4.2: the last reference hangs up");
}

/* A received stream of a driver becomes a stream only if the program names the driver. */
static void a_device_is_taken_up_by_its_driver(void) {
    int sockets[2], echo = open("/dev/streams/echo", O_RDWR), files[8];
    struct strrecvfd file;
    open_ends();
    NEEDS(echo >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "open and socketpair");
    for (int over_stream = 0; over_stream < 2; over_stream++) {
        in_context("over %s", over_stream ? "a stream" : "a socket");
        if (over_stream) {
            EXPECT(ioctl(near, I_SENDFD, echo), 0, "I_SENDFD of a device");
            EXPECT(ioctl(far, I_RECVFD, &file), 0, "I_RECVFD of a device");
            EXPECT(file.uid, getuid(), "POSIX I_RECVFD: the effective user of the sender");
            files[0] = file.fd;
        } else {
            EXPECT(send_by_socket(sockets[0], &echo, 1), 1, "sendmsg with SCM_RIGHTS");
            EXPECT(receive_by_socket(sockets[1], files, 8), 1, "recvmsg");
        }
        EXPECT(isastream(files[0]), 0, "hw_take_stream: no stream before");
        FAILS(hw_take_stream(files[0], "loop"), EACCES, "hw_take_stream: another driver");
        FAILS(hw_take_stream(files[0], "no-such-driver"), EINVAL, "hw_take_stream: an unknown driver");
        FAILS(hw_take_stream(files[0], NULL), EFAULT, "hw_take_stream: no name");
        fcntl(files[0], F_SETFD, FD_CLOEXEC);
        EXPECT(hw_take_stream(files[0], "echo"), 0, "hw_take_stream");
        EXPECT(isastream(files[0]), 1, "hw_take_stream: a stream");
        EXPECT(fcntl(files[0], F_GETFD), FD_CLOEXEC, "hw_take_stream: closed by exec as before");
        EXPECT(write(files[0], "hello", 5), 5, "write");
        EXPECT(read(echo, got.data_bytes, 9), 5, "hw_take_stream: the stream that was sent");
        FAILS(hw_take_stream(files[0], "echo"), ENOSTR, "hw_take_stream: it is one already");
        close(files[0]);
    }
    in_context("%s", "");
    FAILS(hw_take_stream(999, "echo"), EBADF, "hw_take_stream: EBADF");
    FAILS(hw_take_stream(sockets[0], "echo"), ENOSTR, "hw_take_stream: another file");
    EXPECT(close(echo), 0, "close");
}

static const struct test tests[] = {
    TEST(any_file_is_passed),
    TEST(errors),
    TEST(it_keeps_its_place_among_messages),
    TEST(a_blocked_receiver_gets_it),
    TEST(an_end_over_a_socket),
    TEST(an_end_in_flight_that_is_dropped),
    TEST(an_end_over_a_stream),
    TEST(a_device_is_taken_up_by_its_driver),
};
MAIN(tests)

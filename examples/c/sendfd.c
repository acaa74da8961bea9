/*
 * I_SENDFD passes an open file to another process: here a plain file and an end of another pipe. The receiver learns the sender's
 * effective user and group.
 */
#include <sys/wait.h>

#include "example.h"

static int child(int parent)
{
    FILE *file = tmpfile();
    int pair[2];
    char answer[8];

    CHECK(file != NULL && fputs("from a file", file) >= 0 && fflush(file) == 0);
    CHECK(ioctl(parent, I_SENDFD, fileno(file)) == 0);
    stream_pipe(pair);
    CHECK(ioctl(parent, I_SENDFD, pair[0]) == 0);
    /* The files stay open for the receiver, whatever becomes of them here. */
    CHECK(fclose(file) == 0 && close(pair[0]) == 0);
    CHECK(read(pair[1], answer, sizeof answer) == 5 && memcmp(answer, "hello", 5) == 0);
    return 0;
}

int main(void)
{
    int ends[2], status;
    char text[32];
    struct strrecvfd file, stream;

    stream_pipe(ends);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(child(ends[1]));

    CHECK(ioctl(ends[0], I_RECVFD, &file) == 0);
    CHECK(file.uid == geteuid() && file.gid == getegid());
    CHECK(isastream(file.fd) == 0);
    CHECK(pread(file.fd, text, sizeof text, 0) == 11 && memcmp(text, "from a file", 11) == 0);

    CHECK(ioctl(ends[0], I_RECVFD, &stream) == 0);
    CHECK(isastream(stream.fd) == 1);
    CHECK(write(stream.fd, "hello", 5) == 5);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);

    /* Data in the way of a file: EBADMSG, and the data stay. */
    CHECK(write(ends[1], "data", 4) == 4);
    CHECK(ioctl(ends[0], I_RECVFD, &file) == -1 && errno == EBADMSG);
    CHECK(read(ends[0], text, sizeof text) == 4);
    puts("sendfd: ok");
    return 0;
}

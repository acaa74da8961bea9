/* Makes a program slower: preloaded, it has the kernel run filters of SLOW instructions before system calls (seccomp(2)).
 *
 * It does so in the conductors of the program SLOW_PROGRAM, which stands for a build that became slower; without SLOW_PROGRAM
 * in every program. With SLOW_SIZE only writes of that many bytes are slow. A filter that looks at an argument is not skipped by
 * the kernel. */

#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH_MAX 4000

static struct sock_filter filter[LENGTH_MAX + 8];

static void install(int length, const char *size)
{
	struct sock_filter *next = filter;

	if (size) {
		*next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
		*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 2);
	}
	*next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
	if (size) {
		*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(size), 1, 0);
		*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (int count = 0; count < length; count++)
		*next++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3);
	*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog all = { (unsigned short)(next - filter), filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
		_exit(99);
}

__attribute__((constructor)) static void slow(int argc, char **argv)
{
	const char *count = getenv("SLOW"), *program = getenv("SLOW_PROGRAM");
	char own[PATH_MAX] = "";
	int length = count ? atoi(count) : 0;

	if (length < 1)
		return;
	if (program) {
		if (readlink("/proc/self/exe", own, sizeof own - 1) < 0 || strcmp(own, program) != 0)
			return;
		if (argc < 2 || strcmp(argv[1], "conduct") != 0)
			return;
	}
	for (; length > 0; length -= LENGTH_MAX)
		install(length < LENGTH_MAX ? length : LENGTH_MAX, getenv("SLOW_SIZE"));
	/* What this process starts has the filters already. */
	unsetenv("SLOW");
}

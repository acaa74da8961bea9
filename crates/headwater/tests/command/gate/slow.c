/* Makes a program slower: preloaded, it has the kernel run a filter of SLOW instructions before every system call (seccomp(2)).
 *
 * It does so in the conductors of the program SLOW_PROGRAM, which stands for a build that became slower; without SLOW_PROGRAM
 * in every program. A filter that looks at an argument is not skipped by the kernel. */

#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((constructor)) static void slow(int argc, char **argv)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	const char *count = getenv("SLOW"), *program = getenv("SLOW_PROGRAM");
	char own[PATH_MAX] = "";
	int length = count ? atoi(count) : 0;

	if (length < 1 || length > BPF_MAXINSNS - 2)
		return;
	if (program) {
		if (readlink("/proc/self/exe", own, sizeof own - 1) < 0 || strcmp(own, program) != 0)
			return;
		if (argc < 2 || strcmp(argv[1], "conduct") != 0)
			return;
	}
	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
	for (int at = 1; at <= length; at++)
		filter[at] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3);
	filter[length + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog all = { (unsigned short)(length + 2), filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
		_exit(99);
	/* What this process starts has the filter already. */
	unsetenv("SLOW");
}

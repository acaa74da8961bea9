/* upper: a module that turns the data that its head writes into upper case. Control parts pass as they are.
 *
 * It has no service procedure: what it gets it passes on at once, and the queue behind it stops the writer.
 */
#include <sys/stream.h>
#include <stddef.h>

static int upper_open(queue_t *q, dev_t *devp, int flag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)flag, (void)sflag, (void)crp;
	qprocson(q);
	return 0;
}

static int upper_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

static int upper_wput(queue_t *q, mblk_t *mp)
{
	for (mblk_t *bp = mp; bp != NULL; bp = bp->b_cont)
		if (bp->b_datap->db_type == M_DATA)
			for (unsigned char *at = bp->b_rptr, *end = bp->b_wptr; at < end; at++)
				*at -= *at >= 'a' && *at <= 'z' ? 'a' - 'A' : 0;
	putnext(q, mp);
	return 0;
}

static int upper_rput(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct module_info upper_minfo = {0x5550, "upper", 0, INFPSZ, 65536, 8192};
static struct qinit upper_rinit = {upper_rput, NULL, upper_open, upper_close, NULL, &upper_minfo, NULL};
static struct qinit upper_winit = {upper_wput, NULL, NULL, NULL, NULL, &upper_minfo, NULL};

/* What the library looks for in upper.so. */
struct streamtab upperinfo = {&upper_rinit, &upper_winit, NULL, NULL};

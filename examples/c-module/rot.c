/* rot: a driver that sends back what is written, each letter moved by 13 places, or by as many as the ioctl ROT_SET says.
 *
 * A reader that is behind stops the writer: messages wait in the driver's write queue, until there is room above.
 * The number of places is state of the device, for all processes that have it open: it lies in the stream's memory.
 */
#include <sys/stream.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define ROT_SET (('r' << 8) | 1) /* I_STR, one byte: how many places, 1 to 25; returns what it was */

#define DEFAULT 13

/* Bytes of memory in each stream, and that it is a driver. */
size_t rotshared = 1;
int rotdevflag = D_MP | D_DEVICE;

static unsigned char places(queue_t *q)
{
	unsigned char by = 0;

	hw_q_read(q, 0, &by, 1);
	return by >= 1 && by <= 25 ? by : DEFAULT;
}

static int rot_open(queue_t *q, dev_t *devp, int flag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)flag, (void)sflag, (void)crp;
	qprocson(q);
	return 0;
}

static int rot_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

static void rotate(mblk_t *mp, unsigned char by)
{
	for (; mp != NULL; mp = mp->b_cont) {
		if (mp->b_datap->db_type != M_DATA)
			continue;
		for (unsigned char *at = mp->b_rptr; at < mp->b_wptr; at++) {
			if (*at >= 'a' && *at <= 'z')
				*at = (unsigned char)('a' + (*at - 'a' + by) % 26);
			else if (*at >= 'A' && *at <= 'Z')
				*at = (unsigned char)('A' + (*at - 'A' + by) % 26);
		}
	}
}

static void rot_ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)mp->b_rptr;
	unsigned char before = places(q), by;

	if (ioc->ioc_cmd != ROT_SET || ioc->ioc_count != 1 || mp->b_cont == NULL)
		goto refuse;
	by = *mp->b_cont->b_rptr;
	if (by < 1 || by > 25)
		goto refuse;
	hw_q_write(q, 0, &by, 1);
	mp->b_datap->db_type = M_IOCACK;
	ioc->ioc_count = 0;
	ioc->ioc_rval = before;
	qreply(q, mp);
	return;
refuse:
	mp->b_datap->db_type = M_IOCNAK;
	ioc->ioc_error = EINVAL;
	qreply(q, mp);
}

static int rot_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		if (*mp->b_rptr & FLUSHW)
			flushq(q, FLUSHALL);
		if (*mp->b_rptr & FLUSHR) {
			flushq(RD(q), FLUSHALL);
			*mp->b_rptr &= ~FLUSHW;
			qreply(q, mp);
		} else {
			freemsg(mp);
		}
		break;
	case M_IOCTL:
		rot_ioctl(q, mp);
		break;
	case M_DATA:
	case M_PROTO:
		if (q->q_first != NULL || !bcanputnext(RD(q), mp->b_band)) {
			putq(q, mp);
			break;
		}
		/* fall through */
	case M_PCPROTO:
		rotate(mp, places(q));
		qreply(q, mp);
		break;
	default:
		freemsg(mp);
	}
	return 0;
}

static int rot_wsrv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanputnext(RD(q), mp->b_band)) {
			putbq(q, mp);
			break;
		}
		rotate(mp, places(q));
		qreply(q, mp);
	}
	return 0;
}

/* There is room above. */
static int rot_rsrv(queue_t *q)
{
	qenable(WR(q));
	return 0;
}

static struct module_info rot_minfo = {0x524f, "rot", 0, INFPSZ, 65536, 8192};
static struct qinit rot_rinit = {NULL, rot_rsrv, rot_open, rot_close, NULL, &rot_minfo, NULL};
static struct qinit rot_winit = {rot_wput, rot_wsrv, NULL, NULL, NULL, &rot_minfo, NULL};

struct streamtab rotinfo = {&rot_rinit, &rot_winit, NULL, NULL};

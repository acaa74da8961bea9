/* ctest: a module with every kind of procedure, which tests/ddi drives by ioctls. If no ioctl is active, it queues what it gets,
 * and its service procedures pass that on, on both sides. */
#include <sys/stream.h>
#include <sys/ddi.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REVERSE 0x7401
#define REFUSE 0x7402
#define TIMEOUT 0x7403
#define QTIMEOUT 0x7404
#define BUFCALL 0x7405
#define UNTIMEOUT 0x7406
#define SHARED 0x7407
#define LOCAL 0x7408
#define COPY 0x7409
#define SPIN 0x740a
#define BADTYPE 0x740b
#define HIWAT 0x740c
#define REORDER 0x740d
#define HOLD 0x740e
#define GO 0x740f
#define CHECK 0x7410
#define FROZEN 0x7411
#define THREADED 0x7412

struct state {
	int count;
	int holds;
	timeout_id_t timer;
};

int ctest_opens, ctest_closes, ctest_sflag = -1;

static int ct_open(queue_t *q, dev_t *devp, int flag, int sflag, cred_t *crp)
{
	(void)devp, (void)flag;
	if (getenv("CTEST_REFUSE") != NULL)
		return EBUSY;
	if (q->q_ptr != NULL || crp == NULL)
		return EINVAL;
	ctest_opens++;
	ctest_sflag = sflag;
	q->q_ptr = WR(q)->q_ptr = kmem_zalloc(sizeof(struct state), KM_SLEEP);
	qprocson(q);
	return 0;
}

static int ct_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	struct state *state = q->q_ptr;

	qprocsoff(q);
	if (state->timer)
		untimeout(state->timer);
	flushq(q, FLUSHALL);
	/* There is no stream any more, so this goes nowhere. */
	putnextctl(q, M_HANGUP);
	kmem_free(state, sizeof *state);
	ctest_closes++;
	return 0;
}

static void say(queue_t *q, const char *text)
{
	mblk_t *mp = allocb(strlen(text), BPRI_MED);

	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	putnext(q, mp);
}

static void timed(void *q)
{
	say(q, "tick");
}

static void entered(void *arg)
{
	queue_t *q = arg;

	/* This runs as a procedure of the queue: its fields are current, and putq and getq work. */
	say(q, canputnext(q) && q->q_first == NULL ? "qtick" : "wrong");
}

static void called(intptr_t arg)
{
	say((queue_t *)arg, "memory");
}

/* Checks parts of the DDI that need a queue. Returns the number of the first check that fails. */
static int check(queue_t *q)
{
	long value = 0;

	if (RD(q) == q || WR(q) != q || OTHERQ(q) != RD(q) || OTHERQ(RD(q)) != q || RD(RD(q)) != RD(q))
		return 1;
	if (q->q_next == NULL || backq(q) == NULL || q->q_flag & QREADR || !(RD(q)->q_flag & QREADR))
		return 2;
	if (strqset(q, QHIWAT, 0, 4000) || strqset(q, QLOWAT, 0, 1000) || strqget(q, QHIWAT, 0, &value) || value != 4000)
		return 3;
	if (strqget(q, QLOWAT, 0, &value) || value != 1000 || q->q_lowat != 1000)
		return 4;
	if (strqset(RD(q), QHIWAT, 0, 5000) || strqget(RD(q), QHIWAT, 0, &value) || value != 5000)
		return 5;
	if (strqset(q, QMAXPSZ, 0, 3000) || strqget(q, QMAXPSZ, 0, &value) || value != 3000)
		return 6;
	if (strqset(q, QMAXPSZ, 0, INFPSZ) || strqget(q, QMAXPSZ, 0, &value) || value != INFPSZ)
		return 7;
	if (strqget(q, QBAD, 0, &value) != EINVAL || strqset(q, QCOUNT, 0, 1) != EINVAL || strqset(q, QHIWAT, 0, -5) != EINVAL)
		return 8;
	if (qsize(q) != 0 || !canput(q) || !canputnext(q) || !canput(RD(q)) || !canputnext(RD(q)) || !canput(q->q_next))
		return 9;
	if (SAMESTR(q) || !bcanput(q, 5) || !bcanputnext(q, 5) || !bcanputnext(RD(q), 5))
		return 10;
	if (hw_q_write(q, 50, "1234567", 7) != EINVAL || hw_q_read(q, 56, &value, 1) != EINVAL)
		return 11;
	if (putctl(q, M_DATA) || putnextctl(q, M_PROTO) || putctl1(q, 0x77, 1) || putnextctl(q, M_DELAY))
		return 12;
	if (putq(q, NULL) || !testb(100, BPRI_HI) || testb((size_t)-1 / 4, BPRI_HI))
		return 13;
	noenable(q);
	enableok(q);
	strqset(q, QHIWAT, 0, 65536);
	strqset(q, QLOWAT, 0, 8192);
	return 0;
}

/* Reverses the messages of the queue by rmvq and insq. */
static int reorder(queue_t *q)
{
	int count = qsize(q), cookie = freezestr(q), seen = 0;

	for (mblk_t *mp = q->q_first; mp != NULL; mp = mp->b_next)
		seen++;
	if (seen != count)
		return -1;
	for (int at = 1; at < count; at++) {
		mblk_t *mp = q->q_first;

		for (int skip = 0; skip < at; skip++)
			mp = mp->b_next;
		rmvq(q, mp);
		if (msgdsize(mp) == 0 || !insq(q, q->q_first, mp))
			return -2;
	}
	/* A message of a band may not stand behind those of band 0. */
	mblk_t *mp = allocb(1, 0);

	mp->b_band = 9;
	if (count > 0 && insq(q, NULL, mp))
		return -3;
	freemsg(mp);
	unfreezestr(q, cookie);
	return count;
}

static void reverse(unsigned char *bytes, size_t count)
{
	for (size_t at = 0; at < count / 2; at++) {
		unsigned char byte = bytes[at];

		bytes[at] = bytes[count - 1 - at];
		bytes[count - 1 - at] = byte;
	}
}

static void acknowledge(queue_t *q, mblk_t *mp, int value)
{
	struct iocblk *ioc = (struct iocblk *)mp->b_rptr;

	mp->b_datap->db_type = M_IOCACK;
	ioc->ioc_count = mp->b_cont ? msgdsize(mp->b_cont) : 0;
	ioc->ioc_error = 0;
	ioc->ioc_rval = value;
	qreply(q, mp);
}

/* The three words that a COPY gets, and its progress. */
struct copy {
	uint64_t from, to, count;
	int step;
};

static void ioctl_put(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)mp->b_rptr;
	struct state *state = q->q_ptr;
	unsigned char first = mp->b_cont && msgdsize(mp->b_cont) ? *mp->b_cont->b_rptr : 0;

	switch (ioc->ioc_cmd) {
	case REVERSE:
		if (ioc->ioc_uid != getuid() || ioc->ioc_count != msgdsize(mp->b_cont))
			first = 1;
		pullupmsg(mp->b_cont, -1);
		reverse(mp->b_cont->b_rptr, mp->b_cont->b_wptr - mp->b_cont->b_rptr);
		acknowledge(q, mp, (int)msgdsize(mp->b_cont));
		break;
	case REFUSE:
		mp->b_datap->db_type = M_IOCNAK;
		ioc->ioc_error = first;
		qreply(q, mp);
		break;
	case TIMEOUT:
		state->timer = timeout(timed, RD(q), first);
		acknowledge(q, mp, state->timer != 0);
		break;
	case QTIMEOUT:
		state->timer = qtimeout(RD(q), entered, RD(q), first);
		acknowledge(q, mp, state->timer != 0);
		break;
	case UNTIMEOUT: {
		timeout_id_t id = timeout(timed, RD(q), 1000);
		long left = untimeout(id);

		acknowledge(q, mp, left > 900 && left <= 1000 && untimeout(id) == -1 && untimeout(0) == -1);
		break;
	}
	case BUFCALL:
		acknowledge(q, mp, bufcall(100, BPRI_HI, called, (intptr_t)RD(q)) != 0);
		break;
	case SHARED: {
		uint32_t count = 0;

		hw_q_read(q, 12, &count, sizeof count);
		count++;
		hw_q_write(q, 12, &count, sizeof count);
		acknowledge(q, mp, (int)count);
		break;
	}
	case LOCAL:
		acknowledge(q, mp, ++state->count);
		break;
	case COPY: {
		uint64_t address;
		mblk_t *private = allocb(sizeof(struct copy), 0);
		struct copyreq *request = (struct copyreq *)mp->b_rptr;

		memcpy(&address, mp->b_cont->b_rptr, sizeof address);
		private->b_wptr += sizeof(struct copy);
		memset(private->b_rptr, 0, sizeof(struct copy));
		freemsg(unlinkb(mp));
		mp->b_datap->db_type = M_COPYIN;
		request->cq_addr = (caddr_t)address;
		request->cq_size = 24;
		request->cq_private = private;
		request->cq_flag = 0;
		qreply(q, mp);
		break;
	}
	case SPIN:
		for (;;)
			pause();
	case BADTYPE: {
		mblk_t *bad = allocb(1, 0);

		bad->b_datap->db_type = 0x42;
		freemsg(mp);
		putnext(q, bad);
		break;
	}
	case HIWAT: {
		mblk_t *options = allocb(sizeof(struct stroptions), 0);
		struct stroptions *so = (struct stroptions *)options->b_wptr;

		memset(so, 0, sizeof *so);
		so->so_flags = SO_HIWAT | SO_LOWAT;
		so->so_hiwat = 700;
		so->so_lowat = 70;
		options->b_wptr += sizeof *so;
		options->b_datap->db_type = M_SETOPTS;
		putnext(RD(q), options);
		acknowledge(q, mp, 0);
		break;
	}
	case HOLD:
		state->holds = 1;
		noenable(q);
		acknowledge(q, mp, 0);
		break;
	case GO:
		state->holds = 0;
		enableok(q);
		qenable(q);
		acknowledge(q, mp, qsize(q));
		break;
	case REORDER:
		acknowledge(q, mp, reorder(q));
		break;
	case CHECK:
		acknowledge(q, mp, check(q));
		break;
	default:
		putnext(q, mp);
	}
}

static void iocdata_put(queue_t *q, mblk_t *mp)
{
	struct copyresp *response = (struct copyresp *)mp->b_rptr;
	struct copyreq *request = (struct copyreq *)mp->b_rptr;
	mblk_t *private = response->cp_private;
	struct copy *copy;

	if (response->cp_cmd != COPY || private == NULL) {
		putnext(q, mp);
		return;
	}
	copy = (struct copy *)private->b_rptr;
	if (response->cp_rval != 0) {
		freemsg(private);
		freemsg(mp);
		return;
	}
	switch (copy->step++) {
	case 0:
		memcpy(copy, mp->b_cont->b_rptr, 24);
		freemsg(unlinkb(mp));
		mp->b_datap->db_type = M_COPYIN;
		request->cq_addr = (caddr_t)copy->from;
		request->cq_size = copy->count;
		request->cq_private = private;
		qreply(q, mp);
		break;
	case 1:
		reverse(mp->b_cont->b_rptr, copy->count);
		mp->b_datap->db_type = M_COPYOUT;
		request->cq_addr = (caddr_t)copy->to;
		request->cq_size = copy->count;
		request->cq_private = private;
		qreply(q, mp);
		break;
	default:
		freemsg(unlinkb(mp));
		acknowledge(q, mp, (int)copy->count);
		freemsg(private);
	}
}

static int ct_put(queue_t *q, mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;

	if (type == M_FLUSH) {
		queue_t *flushed[] = {*mp->b_rptr & FLUSHR ? RD(q) : NULL, *mp->b_rptr & FLUSHW ? WR(q) : NULL};

		for (int at = 0; at < 2; at++) {
			if (flushed[at] != NULL && *mp->b_rptr & FLUSHBAND)
				flushband(flushed[at], mp->b_rptr[1], FLUSHDATA);
			else if (flushed[at] != NULL)
				flushq(flushed[at], FLUSHDATA);
		}
		putnext(q, mp);
	} else if (type == M_IOCTL && !(q->q_flag & QREADR)) {
		ioctl_put(q, mp);
	} else if (type == M_IOCDATA) {
		iocdata_put(q, mp);
	} else if (type & QPCTL) {
		putnext(q, mp);
	} else if (!putq(q, mp)) {
		freemsg(mp);
	}
	return 0;
}

static int ct_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			return 0;
		}
		putnext(q, mp);
	}
	return 0;
}

static struct module_info ct_minfo = {0x4354, "ctest", 0, INFPSZ, 8192, 1024};
static struct qinit ct_rinit = {ct_put, ct_srv, ct_open, ct_close, NULL, &ct_minfo, NULL};
static struct qinit ct_winit = {ct_put, ct_srv, NULL, NULL, NULL, &ct_minfo, NULL};
struct streamtab ctestinfo = {&ct_rinit, &ct_winit, NULL, NULL};

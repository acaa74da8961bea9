/* relay: a driver of two streams in one process. What is written to one is read from the other. Its put procedures send to the
 * queue of the other stream, and its thread sends to a queue from outside of procedures. */
#include <sys/stream.h>
#include <pthread.h>
#include <stddef.h>

int relaydevflag = D_DEVICE;

static queue_t *queues[2];
static pthread_t thread;
static int tells, asked[2];

static void *tell(void *arg)
{
	queue_t *q = arg;

	for (int number = 0; number < 100; number++) {
		mblk_t *mp = allocb(1, 0);

		*mp->b_wptr++ = (unsigned char)number;
		mp->b_band = 1;
		while (!bcanputnext(q, 1))
			;
		putnext(q, mp);
	}
	return NULL;
}

static int relay_open(queue_t *q, dev_t *devp, int flag, int sflag, cred_t *crp)
{
	(void)devp, (void)flag, (void)sflag, (void)crp;
	queues[queues[0] != NULL] = q;
	return 0;
}

static int relay_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	if (tells && q == queues[0])
		pthread_join(thread, NULL);
	queues[q == queues[1]] = NULL;
	return 0;
}

static void again(void *q)
{
	asked[RD(q) == queues[1]] = 0;
	qenable(q);
}

static int relay_wput(queue_t *q, mblk_t *mp)
{
	queue_t *other = queues[RD(q) == queues[0]];

	if (mp->b_datap->db_type == M_PROTO) {
		tells = 1;
		pthread_create(&thread, NULL, tell, queues[0]);
		freemsg(mp);
	} else if (mp->b_datap->db_type != M_DATA) {
		freemsg(mp);
	} else if (q->q_first == NULL && canputnext(other)) {
		putnext(other, mp);
	} else {
		putq(q, mp);
	}
	return 0;
}

static int relay_wsrv(queue_t *q)
{
	queue_t *other = queues[RD(q) == queues[0]];
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!canputnext(other)) {
			putbq(q, mp);
			if (!asked[RD(q) == queues[1]])
				asked[RD(q) == queues[1]] = timeout(again, q, 1) != 0;
			break;
		}
		putnext(other, mp);
	}
	return 0;
}

static struct module_info relay_minfo = {1, "relay", 0, INFPSZ, 8192, 1024};
static struct qinit relay_rinit = {NULL, NULL, relay_open, relay_close, NULL, &relay_minfo, NULL};
static struct qinit relay_winit = {relay_wput, relay_wsrv, NULL, NULL, NULL, &relay_minfo, NULL};
struct streamtab relayinfo = {&relay_rinit, &relay_winit, NULL, NULL};

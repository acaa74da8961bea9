/* Prints the sizes and offsets of the header, for tests/ddi. */
#include <sys/stream.h>
#include <stdio.h>
#define SIZE(name) printf("%s %zu\n", #name, sizeof(name))
#define TAG(name) printf("%s %zu\n", #name, sizeof(struct name))
#define PLACE(type, field) printf("%s %zu\n", #field, offsetof(type, field))
int main(void)
{
	SIZE(mblk_t); PLACE(mblk_t, b_datap); PLACE(mblk_t, b_flag);
	SIZE(dblk_t); PLACE(dblk_t, db_ref); PLACE(dblk_t, db_type);
	SIZE(queue_t); PLACE(queue_t, q_ptr); PLACE(queue_t, q_flag); PLACE(queue_t, q_lowat);
	TAG(qinit); PLACE(struct qinit, qi_minfo);
	TAG(module_info); PLACE(struct module_info, mi_lowat);
	TAG(streamtab);
	TAG(iocblk); PLACE(struct iocblk, ioc_rval);
	TAG(copyreq); PLACE(struct copyreq, cq_private);
	TAG(copyresp); PLACE(struct copyresp, cp_rval); PLACE(struct copyresp, cp_private);
	TAG(stroptions); PLACE(struct stroptions, so_hiwat); PLACE(struct stroptions, so_maxblk);
	SIZE(cred_t); SIZE(frtn_t);
	return 0;
}

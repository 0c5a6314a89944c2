/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For what measures processor time: while a round is on, nothing else has the processor. */
#ifndef CL_T_ALONE_H
#define CL_T_ALONE_H

#include <sched.h>

/*
 * From here on this process stays on its processor and goes before others there, so that neither
 * its place nor its caches are another's in between; where it may not, it goes on as it is.
 */
static inline void be_alone(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	(void)sched_setaffinity(0, sizeof(here), &here);
	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
}

#endif

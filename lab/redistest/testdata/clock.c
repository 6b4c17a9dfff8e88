// A clock that tests step while a server runs. It is preloaded, and adds to the time of day
// the microseconds in the file STEPPED_CLOCK, which is mapped: so a step is there at once, in
// the middle of whatever the server does. Monotonic clocks do not step.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none, *offset = &none;

__attribute__((constructor)) static void map_offset(void) {
	const char *path = getenv("STEPPED_CLOCK");
	int file = path ? open(path, O_RDONLY) : -1;
	if (file < 0) return;
	void *at = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (at != MAP_FAILED) offset = at;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int failed = (int)syscall(SYS_clock_gettime, id, ts);
	if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
	int64_t by = *offset, nanos = ts->tv_nsec + by % 1000000 * 1000;
	ts->tv_sec += by / 1000000 + (nanos >= 1000000000) - (nanos < 0);
	ts->tv_nsec = (nanos + 1000000000) % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
	struct timespec ts;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at) {
	struct timespec ts;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return (time_t)-1;
	if (at) *at = ts.tv_sec;
	return ts.tv_sec;
}

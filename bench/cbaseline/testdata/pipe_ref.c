/*
 * pipe_ref: what C reaches through a pipe on this machine. The baseline for pipebench's raw cells.
 *
 *   cc -O2 -pthread -o pipe_ref pipe_ref.c
 *   pipe_ref stream    -s 65536 -c 65536 -t 2147483648 -w 0 -r 0 [-T]
 *   pipe_ref roundtrip -s 1     -c 65536 -n 100000     -w 0 -r 1
 *
 * -s message bytes   -c pipe capacity asked for   -t bytes in all   -n round trips
 * -w, -r CPU of the writing and of the reading end (-1: leave it to the scheduler)
 * -T two threads of one process instead of two processes
 *
 * stream: the writer fills whole messages from one buffer, the reader reads up to one message a call until EOF.
 * The clock starts when both ends are ready and stops when the last byte has been read; the count is checked.
 * roundtrip: a message there and the same message back, one at a time, over two pipes.
 * Buffers are page-aligned and touched before the clock starts. Prints one line of key=value.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static size_t size = 65536, total = 1UL << 30;
static int capacity = 65536, writer_cpu = -1, reader_cpu = -1, threads;
static long trips = 20000;

static void die(const char *what) { perror(what); exit(1); }

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pin(int cpu)
{
	cpu_set_t set;
	if (cpu < 0) return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set)) die("sched_setaffinity");
}

static char *buffer(void)
{
	char *p = aligned_alloc(2 << 20, (size + (2 << 20) - 1) / (2 << 20) * (2 << 20));
	if (!p) die("aligned_alloc");
	memset(p, 'x', size);
	return p;
}

static void new_pipe(int fd[2])
{
	if (pipe(fd)) die("pipe");
	if (fcntl(fd[1], F_SETPIPE_SZ, capacity) < 0) die("F_SETPIPE_SZ");
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);
		if (k < 0) die("write");
		p += k, n -= k;
	}
}

static int read_all(int fd, char *p, size_t n)
{
	while (n) {
		ssize_t k = read(fd, p, n);
		if (k < 0) die("read");
		if (k == 0) return 0;
		p += k, n -= k;
	}
	return 1;
}

static void send_stream(int fd, const char *buf)
{
	for (size_t left = total; left; left -= size) write_all(fd, buf, size);
}

static void receive_stream(int fd, char *buf)
{
	size_t got = 0;
	for (ssize_t k; (k = read(fd, buf, size)) != 0; got += k)
		if (k < 0) die("read");
	if (got != total) { fprintf(stderr, "received %zu of %zu bytes\n", got, total); exit(1); }
}

struct sender { int fd; char *buf; };

static void *sending_thread(void *arg)
{
	struct sender *s = arg;
	pin(writer_cpu);
	send_stream(s->fd, s->buf);
	close(s->fd);
	return NULL;
}

static double stream_threads(void)
{
	int fd[2];
	pthread_t t;
	new_pipe(fd);
	struct sender s = { fd[1], buffer() };
	char *buf = buffer();
	pin(reader_cpu);
	double start = now();
	if (pthread_create(&t, NULL, sending_thread, &s)) die("pthread_create");
	receive_stream(fd[0], buf);
	double took = now() - start;
	pthread_join(t, NULL);
	return took;
}

static double stream_processes(void)
{
	int data[2], ready[2], go[2];
	char c = 0;
	new_pipe(data);
	if (pipe(ready) || pipe(go)) die("pipe");
	pid_t child = fork();
	if (child < 0) die("fork");
	if (child == 0) {
		close(data[0]);
		pin(writer_cpu);
		char *buf = buffer();
		write_all(ready[1], &c, 1);
		read_all(go[0], &c, 1);
		send_stream(data[1], buf);
		_exit(0);
	}
	close(data[1]);
	pin(reader_cpu);
	char *buf = buffer();
	read_all(ready[0], &c, 1);
	double start = now();
	write_all(go[1], &c, 1);
	receive_stream(data[0], buf);
	double took = now() - start;
	waitpid(child, NULL, 0);
	return took;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void roundtrip(void)
{
	int there[2], back[2];
	new_pipe(there);
	new_pipe(back);
	pid_t child = fork();
	if (child < 0) die("fork");
	char *buf = buffer();
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		pin(reader_cpu);
		while (read_all(there[0], buf, size)) write_all(back[1], buf, size);
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	pin(writer_cpu);
	double *us = malloc(trips * sizeof *us);
	for (long i = -trips / 10; i < trips; i++) { /* the first tenth warms up */
		double start = now();
		write_all(there[1], buf, size);
		if (!read_all(back[0], buf, size)) die("peer left");
		if (i >= 0) us[i] = (now() - start) * 1e6;
	}
	close(there[1]);
	waitpid(child, NULL, 0);
	double sum = 0;
	for (long i = 0; i < trips; i++) sum += us[i];
	qsort(us, trips, sizeof *us, ascending);
	printf("roundtrip size=%zu capacity=%d writer_cpu=%d reader_cpu=%d trips=%ld mean_us=%.3f p50_us=%.3f p99_us=%.3f max_us=%.3f\n",
	       size, capacity, writer_cpu, reader_cpu, trips, sum / trips, us[trips / 2], us[trips * 99 / 100], us[trips - 1]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int opt;
	optind = 2;
	while ((opt = getopt(argc, argv, "s:c:t:n:w:r:T")) != -1) switch (opt) {
	case 's': size = strtoul(optarg, NULL, 10); break;
	case 'c': capacity = atoi(optarg); break;
	case 't': total = strtoul(optarg, NULL, 10); break;
	case 'n': trips = atol(optarg); break;
	case 'w': writer_cpu = atoi(optarg); break;
	case 'r': reader_cpu = atoi(optarg); break;
	case 'T': threads = 1; break;
	default: return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(what, "stream")) {
		total -= total % size;
		double took = threads ? stream_threads() : stream_processes();
		printf("stream size=%zu capacity=%d writer_cpu=%d reader_cpu=%d threads=%d bytes=%zu seconds=%.6f GBps=%.4f\n",
		       size, capacity, writer_cpu, reader_cpu, threads, total, took, total / took / 1e9);
	} else if (!strcmp(what, "roundtrip")) {
		roundtrip();
	} else {
		fprintf(stderr, "usage: pipe_ref stream|roundtrip [options]; see the head of the source\n");
		return 2;
	}
	return 0;
}

/*
 * pipe_ref: what C reaches through a pipe on this machine. The baseline for pipebench's raw cells.
 *
 *   cc -O2 -pthread -o pipe_ref pipe_ref.c
 *   pipe_ref stream    -s 65536 -c 65536 -w 0 -r 0 [-T]
 *   pipe_ref roundtrip -s 1     -c 65536 -w 0 -r 1
 *
 * -s message bytes   -c pipe capacity asked for
 * -w, -r CPU of the writing and of the reading end (-1: leave it to the scheduler)
 * -T two threads of one process instead of two processes
 *
 * Of each line of standard input it reads two numbers, of messages that warm up and of those that are
 * timed, takes a slice of so many, and prints the seconds that this took. At its end it leaves.
 *
 * stream: the writer fills whole messages from one buffer, the reader reads up to one message a call.
 * The clock starts when both ends are ready and stops when the last byte has been read.
 * roundtrip: a message there and the same message back, one at a time, over two pipes; the clock is
 * read for each.
 * Buffers are page-aligned and touched before the clock starts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static size_t size = 65536;
static int capacity = 65536, writer_cpu = -1, reader_cpu = -1, threads;

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

static void receive(int fd, char *buf, long messages)
{
	for (size_t left = messages * size; left;) {
		ssize_t k = read(fd, buf, size < left ? size : left);
		if (k <= 0) die("read");
		left -= k;
	}
}

struct slice { long warmup, timed; };

static int ask(struct slice *s) { return scanf("%ld %ld", &s->warmup, &s->timed) == 2; }

static int data[2], back[2], ready[2], go[2];

/* Sends slices as it is told over go, and says over ready when one has warmed up. */
static void *sender(void *unused)
{
	struct slice s;
	char c = 0;
	pin(writer_cpu);
	char *buf = buffer();
	while (read_all(go[0], (char *)&s, sizeof s)) {
		for (long i = 0; i < s.warmup; i++) write_all(data[1], buf, size);
		write_all(ready[1], &c, 1);
		if (!read_all(go[0], &c, 1)) break;
		for (long i = 0; i < s.timed; i++) write_all(data[1], buf, size);
	}
	return unused;
}

/* Sends back what it gets. */
static void *echo(void *unused)
{
	pin(reader_cpu);
	char *buf = buffer();
	while (read_all(data[0], buf, size)) write_all(back[1], buf, size);
	return unused;
}

static double stream(struct slice s, char *buf)
{
	char c = 0;
	write_all(go[1], (char *)&s, sizeof s);
	receive(data[0], buf, s.warmup);
	if (!read_all(ready[0], &c, 1)) die("peer left");
	double start = now();
	write_all(go[1], &c, 1);
	receive(data[0], buf, s.timed);
	return now() - start;
}

static double roundtrip(struct slice s, char *buf)
{
	double began = 0, ended = 0;
	for (long i = -s.warmup; i < s.timed; i++) {
		double start = now();
		if (i == 0) began = start;
		write_all(data[1], buf, size);
		if (!read_all(back[0], buf, size)) die("peer left");
		ended = now();
	}
	return ended - began;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int opt;
	optind = 2;
	while ((opt = getopt(argc, argv, "s:c:w:r:T")) != -1) switch (opt) {
	case 's': size = strtoul(optarg, NULL, 10); break;
	case 'c': capacity = atoi(optarg); break;
	case 'w': writer_cpu = atoi(optarg); break;
	case 'r': reader_cpu = atoi(optarg); break;
	case 'T': threads = 1; break;
	default: return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	int streams = !strcmp(what, "stream");
	if ((!streams && strcmp(what, "roundtrip")) || !size) {
		fprintf(stderr, "usage: pipe_ref stream|roundtrip [options]; see the head of the source\n");
		return 2;
	}
	new_pipe(data);
	new_pipe(back);
	if (pipe(ready) || pipe(go)) die("pipe");
	void *(*other)(void *) = streams ? sender : echo;
	pthread_t thread;
	if (threads) {
		if (pthread_create(&thread, NULL, other, NULL)) die("pthread_create");
	} else {
		pid_t child = fork();
		if (child < 0) die("fork");
		/* Each end keeps what it uses, so that it finds the other gone. */
		int *not_parents[] = { streams ? &data[1] : &data[0], &back[1], &ready[1], &go[0] };
		int *not_childs[] = { streams ? &data[0] : &data[1], &back[0], &ready[0], &go[1] };
		for (int i = 0; i < 4; i++) close(*(child ? not_parents : not_childs)[i]);
		if (child == 0) {
			other(NULL);
			_exit(0);
		}
	}
	pin(streams ? reader_cpu : writer_cpu);
	char *buf = buffer();
	for (struct slice s; ask(&s); fflush(stdout))
		printf("%.9f\n", streams ? stream(s, buf) : roundtrip(s, buf));
	return 0;
}

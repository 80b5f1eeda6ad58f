/*
 * yardstick: what C reaches through a pipe on this machine, with each of pipebench's framings.
 *
 *   cc -O2 -o yardstick yardstick.c
 *   yardstick stream    -f ndjson -s 65000 -c 65536 -w 0 -r 0 -a 0
 *   yardstick roundtrip -s 1 -c 65536 -w 0 -r 1
 *
 * -f raw, ndjson, length-prefix, content-length or chunked (frames of 61440 bytes); streams alone
 * -s message bytes   -c pipe capacity asked for   -W most bytes per write, 0 for no limit
 * -w, -r CPU of the writing and of the reading end (-1: leave it to the scheduler)
 * -a where in a page the message begins   -b where the reader's buffer does   -R bytes per read
 * -i 1: all messages have one id, instead of a new one each; shows what drawing ids takes
 *
 * Each line of standard input has two numbers: messages that warm up, and messages that are timed.
 * The program takes a slice of so many, prints the seconds that it took, and leaves at the end.
 *
 * stream: one process sends, another receives. The receiver finds the end of each message as a
 * library has to, and checks its length and both of its ends. The clock starts when both are ready
 * and stops with the last message.
 * roundtrip: a raw message there and the same message back, one at a time, over two pipes.
 *
 * The writer does what pays: it copies small frames into one write, and gathers large ones. A copy
 * in the kernel is slow if its destination lies 1 to 31 bytes behind its source, modulo a page.
 * A write fills pages from their beginning, so a payload that would be copied so begins a write of
 * its own.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum framing { RAW, NDJSON, LENGTH, CONTENT, CHUNKED, FRAMINGS };
static const char *names[] = { "raw", "ndjson", "length-prefix", "content-length", "chunked" };

enum {
	PAGE = 4096,
	SLOW = 31,         /* distances of 1 to so many bytes make a copy slow */
	COPIED = 16384,    /* frames below this are copied into one piece */
	FRAME = 61440,     /* bytes of a chunk with its header and newline */
	ID = 36,           /* bytes of the ID that begins a chunk's header */
	MOST_CHUNKS = 512,
	MOST_HEADER = 64,
};
static char id[ID]; /* of the message under way: a UUID */

static enum framing framing;
static size_t size = 65536, write_size, payload_offset, read_offset = 128, read_size = 262144;
static int capacity = 65536, writer_cpu = -1, reader_cpu = -1, one_id;

static int data[2], back[2], ready[2], go[2];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void bad(const char *what)
{
	fprintf(stderr, "%s: %s\n", names[framing], what);
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pin(int cpu)
{
	cpu_set_t set;
	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("sched_setaffinity");
}

/* buffer returns n bytes that begin at an offset within a page. */
static char *buffer(size_t n, size_t offset)
{
	char *p = aligned_alloc(PAGE, (n + offset + 2 * PAGE - 1) / PAGE * PAGE);
	if (!p)
		die("aligned_alloc");
	memset(p, 'x', n + offset);
	return p + offset;
}

static char *new_message(void)
{
	char *p = buffer(size, payload_offset);
	p[0] = '{';
	p[size - 1] = '}';
	return p;
}

static void new_pipe(int fd[2])
{
	if (pipe(fd))
		die("pipe");
	if (fcntl(fd[1], F_SETPIPE_SZ, capacity) < 0)
		die("F_SETPIPE_SZ");
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n) {
		size_t most = write_size && write_size < n ? write_size : n;
		ssize_t k = write(fd, p, most);
		if (k < 0)
			die("write");
		p += k;
		n -= k;
	}
}

static int read_all(int fd, char *p, size_t n)
{
	while (n) {
		ssize_t k = read(fd, p, n);
		if (k < 0)
			die("read");
		if (k == 0)
			return 0;
		p += k;
		n -= k;
	}
	return 1;
}

/* ---- the writer ---- */

/* gather takes pieces for one call, and returns how many it took. */
static int gather(const struct iovec *pieces, int n, struct iovec *call)
{
	size_t filled = 0, most = write_size ? write_size : SIZE_MAX;
	int i;
	for (i = 0; i < n && i < 1024 && filled < most; i++) {
		size_t distance = (filled - (uintptr_t)pieces[i].iov_base) % PAGE;
		if (filled && pieces[i].iov_len > PAGE && distance >= 1 && distance <= SLOW)
			break;
		call[i] = pieces[i];
		if (call[i].iov_len > most - filled)
			call[i].iov_len = most - filled;
		filled += call[i].iov_len;
	}
	return i;
}

/* send_pieces writes the pieces of a message. */
static void send_pieces(struct iovec *pieces, int n)
{
	static char *composed;
	static struct iovec call[1024];
	size_t all = 0;
	for (int i = 0; i < n; i++)
		all += pieces[i].iov_len;
	if (all < COPIED) {
		if (!composed)
			composed = buffer(COPIED + MOST_HEADER, 0);
		char *start = composed + (MOST_HEADER - pieces[0].iov_len % MOST_HEADER) % MOST_HEADER;
		char *at = start;
		for (int i = 0; i < n; i++) {
			memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
			at += pieces[i].iov_len;
		}
		write_all(data[1], start, all);
		return;
	}
	while (n) {
		ssize_t k = writev(data[1], call, gather(pieces, n, call));
		if (k < 0)
			die("writev");
		while (n && (size_t)k >= pieces->iov_len) {
			k -= pieces->iov_len;
			pieces++;
			n--;
		}
		if (n) {
			pieces->iov_base = (char *)pieces->iov_base + k;
			pieces->iov_len -= k;
		}
	}
}

/* chunks is how a message is cut, the same for every message. */
static struct {
	int n;
	size_t data[MOST_CHUNKS];
} chunks;

static int digits(size_t n)
{
	int d = 1;
	while (n /= 10)
		d++;
	return d;
}

/* cut finds the smallest number of chunks whose frames hold a message. As ours do, all but the last
 * carry as much as fits beside an index of as many digits as the number of chunks has. */
static void cut(void)
{
	for (int of = 1; of <= MOST_CHUNKS; of++) {
		size_t left = size;
		size_t room = FRAME - (ID + 3 + 2 * digits(of)) - 1;
		for (int i = 0; i < of; i++) {
			chunks.data[i] = left < room ? left : room;
			left -= chunks.data[i];
		}
		chunks.n = of;
		if (!left)
			return;
	}
	bad("too many chunks");
}

/* decimal writes n at at, and returns where it ends. printf takes longer than a small frame. */
static char *decimal(char *at, size_t n)
{
	int length = digits(n);
	for (int i = length; i > 0; i--) {
		at[i - 1] = '0' + n % 10;
		n /= 10;
	}
	return at + length;
}

static char *text(char *at, const char *s, size_t n)
{
	memcpy(at, s, n);
	return at + n;
}

/* random_bits is SplitMix64. */
static uint64_t random_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* new_id draws the id of a message: a UUID of version 4. */
static void new_id(void)
{
	static const char digit[] = "0123456789abcdef";
	static uint64_t state[2];
	union {
		uint64_t words[2];
		unsigned char bytes[16];
	} drawn;
	if (!state[0]) {
		state[0] = (uint64_t)getpid() << 32 | time(NULL);
		state[1] = ~state[0];
	}
	drawn.words[0] = random_bits(&state[0]);
	drawn.words[1] = random_bits(&state[1]);
	drawn.bytes[6] = (drawn.bytes[6] & 15) | 64;
	drawn.bytes[8] = (drawn.bytes[8] & 63) | 128;
	char *at = id;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = digit[drawn.bytes[i] >> 4];
		*at++ = digit[drawn.bytes[i] & 15];
	}
}

static void send_chunks(char *p)
{
	static char headers[MOST_CHUNKS][MOST_HEADER];
	static struct iovec pieces[2 * MOST_CHUNKS + 1];
	int n = 0;
	if (!one_id || !id[0])
		new_id();
	for (int i = 0; i < chunks.n; i++) {
		/* The newline that ends a frame goes before the header of the next one. */
		char *at = text(headers[i], "\n", i > 0);
		at = text(at, id, ID);
		*at++ = ':';
		at = decimal(at, i);
		*at++ = ':';
		at = decimal(at, chunks.n);
		*at++ = ':';
		pieces[n++] = (struct iovec){ headers[i], at - headers[i] };
		pieces[n++] = (struct iovec){ p, chunks.data[i] };
		p += chunks.data[i];
	}
	pieces[n++] = (struct iovec){ "\n", 1 };
	send_pieces(pieces, n);
}

static void send_message(char *p)
{
	char header[MOST_HEADER], *end_of_header;
	struct iovec pieces[2];
	int searched = framing == NDJSON || framing == CHUNKED;
	if (searched && memchr(p, '\n', size))
		bad("a newline");
	switch (framing) {
	case NDJSON:
		pieces[0] = (struct iovec){ p, size };
		pieces[1] = (struct iovec){ "\n", 1 };
		send_pieces(pieces, 2);
		break;
	case LENGTH:
		for (int i = 0; i < 4; i++)
			header[i] = size >> (24 - 8 * i);
		pieces[0] = (struct iovec){ header, 4 };
		pieces[1] = (struct iovec){ p, size };
		send_pieces(pieces, 2);
		break;
	case CONTENT:
		end_of_header = text(decimal(text(header, "Content-Length: ", 16), size), "\r\n\r\n", 4);
		pieces[0] = (struct iovec){ header, end_of_header - header };
		pieces[1] = (struct iovec){ p, size };
		send_pieces(pieces, 2);
		break;
	case CHUNKED:
		send_chunks(p);
		break;
	default:
		write_all(data[1], p, size);
	}
}

/* ---- the reader ---- */

/* What was read and not yet taken is in[base..end). */
static char *in;
static size_t in_size, base, end;

/* fill reads once. It first makes room for need bytes from base on. */
static void fill(size_t need)
{
	size_t kept = end - base;
	if (base != 0 && (kept == 0 || base + need > in_size || in_size - end < read_size / 4)) {
		memmove(in, in + base, kept);
		base = 0;
		end = kept;
	}
	size_t room = in_size - end;
	ssize_t k = read(data[0], in + end, room < read_size ? room : read_size);
	if (k < 0)
		die("read");
	if (k == 0)
		bad("the stream ended inside a message");
	end += k;
}

static void need(size_t n)
{
	while (end - base < n)
		fill(n);
}

/* newline returns how far behind base + from the next newline is, counted from base. */
static size_t newline(size_t from)
{
	for (;;) {
		char *found = memchr(in + base + from, '\n', end - base - from);
		if (found)
			return found - (in + base);
		from = end - base;
		fill(from + MOST_HEADER > size + MOST_HEADER ? from + MOST_HEADER : size + MOST_HEADER);
	}
}

static void received(const char *p, size_t n)
{
	if (n != size || p[0] != '{' || p[n - 1] != '}')
		bad("not the message that was sent");
}

/* third_colon returns where the header ends that begins at base + at, once all of it is there. */
static size_t third_colon(size_t at)
{
	for (size_t length = ID + 5;; length++) {
		int colons = 0;
		need(at + length);
		for (size_t i = ID; i < length; i++)
			colons += in[base + at + i] == ':';
		if (colons == 3)
			return at + length;
		if (length > MOST_HEADER)
			bad("a header without an end");
	}
}

/* receive_chunks puts the data of a message together in the buffer, each chunk behind the last. */
static void receive_chunks(void)
{
	size_t got = 0;
	int of = 1;
	for (int index = 0; index < of; index++) {
		need(got + ID + 5);
		size_t skip = third_colon(got) - got;
		char *header = in + base + got, *p;
		if (index == 0)
			memcpy(id, header, ID);
		if (memcmp(header, id, ID) || header[ID] != ':')
			bad("no chunk of this message");
		if (strtol(header + ID + 1, &p, 10) != index || *p != ':')
			bad("not the next chunk");
		of = strtol(p + 1, &p, 10);
		if (got == 0) { /* the message begins behind the first header */
			base += skip;
			skip = 0;
		}
		size_t stop = newline(got + skip);
		size_t n = stop - got - skip;
		if (skip)
			memmove(in + base + got, in + base + got + skip, n);
		got += n;
		if (index + 1 == of) {
			received(in + base, got);
			base += stop + 1;
			return;
		}
		size_t rest = end - base - stop - 1;
		memmove(in + base + got, in + base + stop + 1, rest);
		end = base + got + rest;
	}
}

static void receive_content(void)
{
	size_t n = 0, at = 16;
	need(at + 5);
	if (memcmp(in + base, "Content-Length: ", at))
		bad("no header");
	for (; in[base + at] != '\r'; at++) {
		n = n * 10 + (in[base + at] - '0');
		need(at + 5);
	}
	if (memcmp(in + base + at, "\r\n\r\n", 4))
		bad("no end of the header");
	at += 4;
	need(at + n);
	received(in + base + at, n);
	base += at + n;
}

static void receive_length(void)
{
	size_t n = 0;
	need(4);
	for (int i = 0; i < 4; i++)
		n = n << 8 | (unsigned char)in[base + i];
	need(4 + n);
	received(in + base + 4, n);
	base += 4 + n;
}

static void receive_line(void)
{
	size_t n = newline(0);
	received(in + base, n);
	base += n + 1;
}

static void receive_raw(long messages)
{
	for (size_t left = messages * size; left;) {
		ssize_t k = read(data[0], in, read_size < left ? read_size : left);
		if (k <= 0)
			die("read");
		left -= k;
	}
}

static void receive(long messages)
{
	if (framing == RAW) {
		receive_raw(messages);
		return;
	}
	for (long i = 0; i < messages; i++) {
		switch (framing) {
		case NDJSON:
			receive_line();
			break;
		case LENGTH:
			receive_length();
			break;
		case CONTENT:
			receive_content();
			break;
		default:
			receive_chunks();
		}
	}
}

/* ---- slices ---- */

struct slice {
	long warmup, timed;
};

/* sender sends slices as it is told over go, and says over ready when one has warmed up. */
static void sender(void)
{
	struct slice s;
	char c = 0;
	pin(writer_cpu);
	char *message = new_message();
	while (read_all(go[0], (char *)&s, sizeof s)) {
		for (long i = 0; i < s.warmup; i++)
			send_message(message);
		write_all(ready[1], &c, 1);
		if (!read_all(go[0], &c, 1))
			break;
		for (long i = 0; i < s.timed; i++)
			send_message(message);
	}
}

/* echo sends back what it gets. */
static void echo(void)
{
	pin(reader_cpu);
	char *message = buffer(size, read_offset);
	while (read_all(data[0], message, size))
		write_all(back[1], message, size);
}

static double stream(struct slice s)
{
	char c = 0;
	write_all(go[1], (char *)&s, sizeof s);
	receive(s.warmup);
	if (!read_all(ready[0], &c, 1))
		die("the sender left");
	double start = now();
	write_all(go[1], &c, 1);
	receive(s.timed);
	return now() - start;
}

static double roundtrip(struct slice s, const char *message, char *answer)
{
	double began = 0, ended = 0;
	for (long i = -s.warmup; i < s.timed; i++) {
		double start = now();
		if (i == 0)
			began = start;
		write_all(data[1], message, size);
		if (!read_all(back[0], answer, size))
			die("the other end left");
		ended = now();
	}
	return ended - began;
}

static int usage(void)
{
	fprintf(stderr, "usage: yardstick stream|roundtrip [options]; see the head of the source\n");
	return 2;
}

static int parse(int argc, char **argv)
{
	int opt;
	optind = 2;
	while ((opt = getopt(argc, argv, "f:s:c:W:w:r:a:b:R:i:")) != -1) {
		switch (opt) {
		case 'f':
			while (framing < FRAMINGS && strcmp(names[framing], optarg))
				framing++;
			break;
		case 's': size = strtoul(optarg, NULL, 10); break;
		case 'c': capacity = atoi(optarg); break;
		case 'W': write_size = strtoul(optarg, NULL, 10); break;
		case 'w': writer_cpu = atoi(optarg); break;
		case 'r': reader_cpu = atoi(optarg); break;
		case 'a': payload_offset = strtoul(optarg, NULL, 10); break;
		case 'b': read_offset = strtoul(optarg, NULL, 10); break;
		case 'R': read_size = strtoul(optarg, NULL, 10); break;
		case 'i': one_id = atoi(optarg); break;
		default: return 0;
		}
	}
	return framing < FRAMINGS && size > 1 - (framing == RAW) && read_size &&
		payload_offset < PAGE && read_offset < PAGE;
}

/* start_other starts the other end. Each end keeps what it uses, so that it finds the other gone. */
static void start_other(int streams)
{
	pid_t child = fork();
	if (child < 0)
		die("fork");
	close(streams == (child != 0) ? data[1] : data[0]);
	close(child ? back[1] : back[0]);
	close(child ? ready[1] : ready[0]);
	close(child ? go[0] : go[1]);
	if (child)
		return;
	if (streams)
		sender();
	else
		echo();
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int streams = !strcmp(what, "stream");
	if ((!streams && strcmp(what, "roundtrip")) || !parse(argc, argv))
		return usage();
	signal(SIGPIPE, SIG_IGN);
	if (framing == CHUNKED)
		cut();
	new_pipe(data);
	new_pipe(back);
	if (pipe(ready) || pipe(go))
		die("pipe");
	start_other(streams);
	pin(streams ? reader_cpu : writer_cpu);
	in_size = read_size + size + size / 2 + 2 * PAGE;
	in = buffer(in_size, read_offset);
	char *message = new_message();
	struct slice s;
	while (scanf("%ld %ld", &s.warmup, &s.timed) == 2) {
		printf("%.9f\n", streams ? stream(s) : roundtrip(s, message, in));
		fflush(stdout);
	}
	return 0;
}

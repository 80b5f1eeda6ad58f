// Package catalogue lists the ways in which a program, a server or a client misbehaves at its
// pipes.
//
//	for _, m := range catalogue.Of(catalogue.Server) {
//		fmt.Println(m.Usage(), m.Title) // what serve --fault can be asked for
//	}
//
// It says what is done, which rule judges the outcome, and what to do about it; the packages that
// reproduce a misbehaviour pick theirs by side and name. Its functions may be called by any number
// of goroutines.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Side is who misbehaves.
type Side string

// Sides. A name stands for one thing on each side.
const (
	Program Side = "program" // any program at its own pipes: run --scenario reproduces it
	Server  Side = "server"  // a server towards its client: serve --fault does it
	Client  Side = "client"  // a client, or the system, towards a server: drive --faults does it

	Surroundings Side = "surroundings" // whoever holds the other ends of a program's streams: check does it
	Habits       Side = "habits"       // of clients, whatever faults their server has: check --client looks at them
	Life         Side = "life"         // whoever starts, uses and ends a server: check --server does it
)

// A Misbehaviour is one way to fail, or to make another fail.
type Misbehaviour struct {
	Name   string
	Side   Side
	Title  string // what is done, in a line for a list
	Detail string // what is done and why it matters, where the title does not say it all
	Rule   string // the rule that judges the outcome
	Advice string // what a good program does
	Seen   string // where it was seen, of servers

	// A Server's misbehaviour may take a number of bytes: Sign is '@' before a threshold and '='
	// before a quantity, or 0 where there is none; Default is used where no number is given.
	Sign    byte
	Default int64
}

// All returns the whole catalogue, side by side, and related ones together.
func All() []Misbehaviour {
	return slices.Concat(programs, servers, clients, surroundings, habits, lives)
}

// Of returns the misbehaviours of one side.
func Of(side Side) []Misbehaviour {
	return slices.DeleteFunc(All(), func(m Misbehaviour) bool { return m.Side != side })
}

// Situations returns what check does to a program, a server or a client: how it behaves then is
// what is judged.
func Situations(checked Side) []Misbehaviour {
	switch checked {
	case Program:
		return Of(Surroundings)
	case Server:
		return append(Of(Client), Of(Life)...)
	}
	return append(Of(Server), Of(Habits)...)
}

// Find returns the misbehaviour of that side and name. Its error only lists the known names: the
// caller says what was asked for.
func Find(side Side, name string) (Misbehaviour, error) {
	var known []string
	for _, m := range Of(side) {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Misbehaviour{}, fmt.Errorf("known are %s", strings.Join(known, ", "))
}

// Usage returns the form in which m is asked for, such as "deaf@1MiB".
func (m Misbehaviour) Usage() string { return m.Spec(m.Default) }

// Spec returns how m is asked for with that number of bytes; 0 is none, where a quantity is asked for
// and where it is the default.
func (m Misbehaviour) Spec(bytes int64) string {
	if m.Sign == 0 || bytes == 0 && (m.Default == 0 || m.Sign == '=') {
		return m.Name
	}
	return m.Name + string(m.Sign) + strings.ReplaceAll(results.FormatSize(bytes), " ", "")
}

func program(name, title, detail, rule, advice string) Misbehaviour {
	return Misbehaviour{Side: Program, Name: name, Title: title, Detail: detail, Rule: rule, Advice: advice}
}

func server(name string, sign byte, bytes int64, title, seen, rule, advice string) Misbehaviour {
	return Misbehaviour{Side: Server, Name: name, Sign: sign, Default: bytes, Title: title, Seen: seen, Rule: rule, Advice: advice}
}

// Entries of these sides have the same parts.
var client, around, habit, life = entry(Client), entry(Surroundings), entry(Habits), entry(Life)

func entry(side Side) func(name, title, rule, advice string) Misbehaviour {
	return func(name, title, rule, advice string) Misbehaviour {
		return Misbehaviour{Side: side, Name: name, Title: title, Rule: rule, Advice: advice}
	}
}

var programs = []Misbehaviour{
	program("reader-gone", "the reader leaves before, during and after a write",
		"For each kind of pipe and each way to wait, a reader closes its end before a write, while one is under way, and after "+
			"one that fitted the pipe. Shown are the bytes that the kernel accepted, the signals it sent, and how long the writer took to notice.",
		"bytes that were accepted, never read and not complained of are a silent loss; a writer that was told has noticed",
		"take EPIPE for the end of the conversation, and await an answer for what must not be lost"),
	program("exit-before-drain", "a program exits while its output waits in a queue",
		"A program with non-blocking output writes what the pipe takes, queues the rest, and exits, as an event loop does whose "+
			"exit does not wait for its streams. Over a pipe and over a socket pair; node does it too where it is installed.",
		"bytes that are missing from a program that exited with 0 are a silent loss",
		"exit by returning from the event loop, or when the stream says that it has drained"),
	program("orphan", "a server whose client was killed",
		"A client starts a server with pipes and is killed. One server reads its standard input and leaves when that ends; one does "+
			"not read it; one goes on writing and takes no notice of errors.",
		"a server that is still there half a second after its client's death is orphaned",
		"read standard input all the time, and exit at its end"),
	program("full-pipe", "what a writer does while the pipe is full, and what it costs",
		"Messages of 1 MiB, bare and in chunks of several sizes, written with each way to wait against a reader that blocks. A writer "+
			"that sleeps before it tries again gets one pipe's worth across per sleep, whatever the chunk size.",
		"slow where every framing gets below a fifth of a blocking writer's goodput, with the whole interval below one",
		"wait in the kernel: poll(2), an event loop, or a blocking descriptor"),
	program("both-write-first", "both sides write before they read",
		"Two processes, a pipe each way. Each writes its message whole before it reads the other's: below what the pipe holds that "+
			"works, above it both wait for ever. The cure is a reader that reads while the writer writes.",
		"a write that still waits after half a second, when nothing else is going on, is stuck",
		"read on a thread or task of its own, always"),
	program("stderr-undrained", "a server logs to a standard error that nobody reads",
		"A server answers line by line and logs some bytes per request to standard error, which is a pipe that its client holds but "+
			"does not read. Requests are sent one at a time until an answer fails to come.",
		"an answer that does not come within half a second is stuck",
		"whoever starts a server reads its standard error to the end, or gives it a file"),
	program("nonblocking-stdout", "a child inherits a non-blocking standard output and does not know it",
		"The mode belongs to the pipe, not to the process: a parent, or a sibling, that makes it non-blocking does so for all. "+
			"A program that writes once and does not look at the count, one that does, and python's print where it is installed.",
		"bytes that are missing from a program that exited with 0 are a silent loss",
		"look at the count of every write, and go on at the byte where it stopped when there is room"),
	program("head-of-line", "a large message makes small ones wait",
		"A message of 4 MiB is under way to a reader that takes 47 ns for each byte, as a real server does; then a small message of higher "+
			"priority is sent. Bare lines make it wait for all of the large one, chunks for what the pipe holds and one chunk.",
		"slow where the small message waits for at least half of the large one, in every plausible case",
		"send large messages in chunks and let small ones in between, or keep a second pipe for them"),
	program("interleave", "several writers share one pipe",
		"Four processes write to one pipe, each its own letter: first bare writes of sizes around PIPE_BUF, read in pieces of several "+
			"sizes, then messages in each framing. A write longer than the system keeps whole is cut by the others, and the framing either "+
			"survives that, detects it, or delivers a mixture.",
		"a mixture delivered as a message is corrupted; one that the framing reports is noticed",
		"let one process, or one lock, own the pipe"),
	program("split-utf8", "a chunk ends inside a character",
		"Text of two, three and four byte characters in chunks, at every offset. One receiver puts bytes together and decodes the message; "+
			"one decodes each frame as text and drops what is none; one decodes each frame and replaces what is none.",
		"a message altered is corrupted; one dropped is a silent loss",
		"split and join bytes; decode the message"),
	program("dirty-lines", "something that is no message gets between the messages",
		"A message, an oddity, a message: a log line, a NUL, a blank line, CR LF, a newline inside a message, two messages on a line, a last "+
			"line without its newline. To several readers: ours, a line scanner, one that reads byte by byte as it is printed, a JSON stream decoder, and a header reader.",
		"the worst case decides: a reader that reads on at the end of its input is stuck, what is lost without an error is a silent loss, with one it is noticed",
		"keep standard output for messages alone; let a reader report a bad line and go on with the next one"),
	program("framing-mismatch", "the two sides do not agree on a framing",
		"Each framing is sent to a reader of each other one, three messages, the last of them larger than a chunk, on a stream that stays "+
			"open. The reader understands them, refuses them, takes something else for a message, or waits for ever.",
		"stuck where the reader waits for more of the first message; else refused where it says so, corrupted where it delivers what nobody sent",
		"put a deadline on the first answer, and say in its error which framing was spoken"),
	program("growth", "readers whose cost grows with the message: byte by byte, and searching again",
		"Lines of growing size to a reader that reads one byte a call, to one that reads 4096 bytes and searches its whole buffer again after "+
			"each read, and to ours. Time for a byte against size, and the slope of time over size: 1 is linear, 2 is quadratic.",
		"grows where the slope is above 1.3 and its interval above 1; slow where some size takes three times as long as with our reader",
		"remember how far the buffer has been searched, and read what there is in one call"),
	program("no-newline", "a line that never ends",
		"Bytes without a newline, to readers with a limit of 10 MiB: ours, which closes at the limit; ours, which skips the line and goes on, "+
			"with 1 GiB; and one that looks at the length when the newline has come, as printed, as far as is safe.",
		"sound where the error comes while the line still arrives, with at most three times the limit of memory held",
		"check the length of what is buffered after every read, before the buffer grows"),
}

// Rules on servers name the verdict that drive gives.
var servers = []Misbehaviour{
	server("deaf", '@', 1<<20, "reads on but never answers again once a message is larger",
		"a reader's cap whose error nobody handles (MCP TypeScript SDK 1.32)",
		"no reply from the first size above the threshold on, and the process lives",
		"answer what is too large with an error; as a client, put a deadline on every answer"),
	server("exit0", '@', 1<<20, "exits with code 0 and no word once a message is larger",
		"an end of input taken for a goodbye (MCP TypeScript SDK 1.32)",
		"exit 0 from the first size above the threshold",
		"answer with an error and go on; as a client, take an end of output with requests in flight for a failure"),
	server("error", '@', 1<<20, "answers a larger message with a JSON-RPC error and goes on",
		"servers that check their limit",
		"error reply from the first size above the threshold",
		"document the limit; this is how one should look"),
	server("limit", '@', 1<<20, "exits with code 1 and names the limit on stderr once a message is larger",
		"bufio.Scanner's token too long, asyncio's LimitOverrunError",
		"exit 1 from the first size above the threshold",
		"skip the message and answer with an error; as a client, show the server's last words"),
	server("never-read", '@', 0, "reads no more once a message is larger; by default, after the handshake",
		"a writer and a reader that wait for each other",
		"no reply, the process lives, and the request is not taken whole by the pipe",
		"read while writing; as a client, put a deadline on writes too"),
	server("dirty", 0, 0, "writes log lines, blank lines and other JSON to stdout between answers",
		"print in a server, or a dependency that logs",
		"ok, with a warning that lines of output are no messages",
		"log to standard error; as a client, skip a line that is no message and say so"),
	server("split-utf8", '=', 4096, "decodes its input in pieces of so many bytes, so that a character cut in two becomes U+FFFD",
		"chunk.toString() for each chunk",
		"corrupt: the answer is not what was sent",
		"join bytes first, decode text then"),
	server("trickle", '=', 16, "writes its answers so many bytes at a time",
		"unbuffered output",
		"ok, at the cost of a system call for each piece",
		"buffer an answer and write it in one call; as a client, wait for the whole of it"),
	server("stderr-flood", '=', 64<<10, "writes so many bytes to stderr before each answer",
		"servers that log what they are asked",
		"ok with a warning; deadlock where standard error is not read",
		"log less than a pipe holds; as a client, drain standard error"),
	server("reorder", 0, 0, "answers requests that come together in the reverse order",
		"servers with several threads",
		"ok: JSON-RPC promises no order",
		"as a client, match answers to requests by their id"),
	server("corrupt", '@', 64<<10, "alters one character of each larger answer",
		"writers without a lock, re-used buffers",
		"corrupt from the first size above the threshold",
		"let one writer own standard output, and one message own a buffer"),
	server("truncate-at-exit", '@', 64<<10, "exits with code 0 in the middle of the first larger answer",
		"process.exit() with a pipe behind stdout",
		"truncated from the first size above the threshold",
		"flush before exit; as a client, take an end inside a message for an error"),
	server("large-answer", '=', 16<<20, "answers each call with so many bytes",
		"results in base64, each twice: as text and as structure",
		"ok, where the client has no limit",
		"keep results small, or page them; as a client, fail that one call and say which limit it met"),
	server("odd-version", 0, 0, "answers initialize with a version of the protocol that nobody knows",
		"servers ahead of their clients",
		"no session: the version is not known",
		"answer with a version that the client may know; as a client, disconnect and name both versions"),
	server("quadratic", 0, 0, "searches and copies all it has of a message for each 4 KiB that come",
		"Buffer.concat for each chunk",
		"grows faster than linear, over a sweep of sizes",
		"remember how far the buffer was searched, and grow it by doubling"),
}

// Rules on clients tell what a server may do.
var clients = []Misbehaviour{
	client("dirty-line", "lines that are no messages, blank ones among them, come before a request",
		"ok where the request is answered",
		"answer the request: a bad line costs one error at most, not the session"),
	client("split-utf8", "characters of 2, 3 and 4 bytes are cut at every byte of them",
		"corrupt where a character comes back altered",
		"give them back whole: join bytes first, decode text then"),
	client("trickle", "a request comes one byte at a time",
		"ok where the request is answered",
		"answer it like any other"),
	client("slow-reader", "answers of 4 MiB in all are not read for a second",
		"ok where every answer comes whole once it is read",
		"wait, and deliver every byte then; memory that grows with what is unread is a debt"),
	client("unread-stderr", "standard error is not read",
		"deadlock where answers stop while standard error's pipe is full",
		"answer 200 requests all the same: log less than a pipe holds"),
	client("nonblocking-stdout", "standard output is in non-blocking mode, and not read for a moment",
		"truncated where bytes of an answer are missing",
		"wait for room, and write again what was not taken"),
	client("closed-stdout", "the client stops reading for good, and asks on",
		"ok where the server ends in time; else it stays, and may burn a CPU",
		"end soon, and without burning a CPU: nobody will hear it"),
	client("eof-mid-frame", "the input ends in the middle of a request",
		"ok where the server ends in time; else it stays, and may burn a CPU",
		"end soon: the rest will not come"),
	client("wrong-framing", "the client speaks the other framing",
		"ok where the server answers anything or ends; else it waits in silence",
		"say what is wrong, or end; a client that waits learns nothing"),
	client("lying-length", "a header announces more bytes than come (2 GB)",
		"fails where memory grows by half of what is announced",
		"allocate what arrives, not what is announced"),
}

// Rules on surroundings tell what a program may do. What it wrote to a file is the reference.
const (
	asToFile = "fails where bytes or the exit status are not those of the reference"
	asWaits  = asToFile + ", where it burns a CPU while it waits, or where its memory grows with what is unread"
	asLeft   = "fails where the program does not end soon after; with which exit code or signal is its own affair"
	asEnds   = "fails where it does not end, crashes, or burns a CPU"

	leaveToo = "take a broken pipe for the end: exit, and start no more work"
)

var surroundings = []Misbehaviour{
	around("reference", "standard output is a file, twice",
		"fails where the two differ and have to be the same, or where a process that it leaves behind holds its output",
		"end what was started, or give it streams of its own: who reads to the end waits for all who hold the pipe"),
	around("fast-reader", "standard output is a pipe that is read at once", asToFile, "write the same to a pipe as to a file"),
	around("late-reader", "nobody reads standard output for half a second", asWaits,
		"wait for room in the pipe, and exit when all is written"),
	around("slow-reader", "standard output is read slowly, a little at a time", asToFile,
		"wait for room in the pipe, as often as it takes"),
	around("small-pipe", "standard output is a pipe that holds one page", asToFile,
		"look at the count of every write, and rely on no capacity"),
	around("socketpair", "standard output is one of a pair of sockets, as Node gives its children, and is read late", asWaits,
		"write to descriptor 1 instead of opening /dev/stdout, which a socket refuses"),
	around("fifo", "standard output is a FIFO", asToFile, "write the same to a FIFO as to a file"),
	around("nonblocking-pipe", "standard output is a pipe in non-blocking mode that is read late",
		asWaits+"; ok where it says that it cannot write",
		"when a write is refused, wait for room and go on at the byte where it stopped"),
	around("terminal", "standard output is a terminal", "fails where it ends otherwise than with a file; what it writes may differ",
		"end the same way whoever reads"),
	around("block-buffer", "what comes through a pipe is compared with what comes to a terminal, in time",
		"slow where lines that came one by one to a terminal come late and in blocks through a pipe",
		"flush after each line that somebody waits for"),
	around("reader-leaves-at-once", "the reader closes its end before the first byte", asLeft, leaveToo),
	around("reader-leaves-after-line", "the reader closes its end after the first line", asLeft, leaveToo),
	around("reader-leaves-midway", "the reader closes its end in the middle of the output", asLeft, leaveToo),
	around("full-device", "standard output is a device without room (/dev/full)", "fails where it exits with 0 and says nothing",
		"look at the errors of write, flush and close, and exit with another code than 0"),
	around("stderr-unread", "nobody reads standard error", "slow where the program does not end: it waits for room there",
		"log less than a pipe holds, or not in the way of the work"),
	around("stdin-closed", "descriptor 0 is closed", asEnds,
		"take a standard input that cannot be read for an empty one, or say so and exit"),
	around("stdin-empty", "standard input ends at once", asEnds, "exit at the end of the input"),
	around("stdin-silent", "standard input stays open and nothing comes for half a second, then it ends", asEnds,
		"wait in read or poll, and exit at the end of the input"),
	around("stdin-trickle", "the input comes in small pieces", asToFile,
		"read until the end of the input: a read may bring less than was asked for"),
	around("stdin-cut-line", "the input ends in the middle of a line", asEnds+", or where it leaves the last line out",
		"take what stands before the end of the input for a line"),
}

// Rules on habits tell what a client has to do, those of MCP with their section of its specification.
var habits = []Misbehaviour{
	habit("good-server", "the server has no fault",
		"fails where the client does not end with code 0, or leaves the server behind",
		"close the server's input, wait for it, and end it by force if it stays"),
	habit("failed-starts", "the server ends at the first message, at each start",
		"fails where a client that lives on has a descriptor more for each failed start, or one that ends says so by no code",
		"close both ends of all pipes of a server that failed, and wait for its process"),
	habit("mcp-opening", "what comes first on a connection",
		"2025-11-25 basic/lifecycle, Initialization: initialize with version, capabilities and name, then notifications/initialized before all else; "+
			"2026-07-28 basic/transports/stdio, Backward Compatibility: or server/discover",
		"send nothing but ping before the answer to initialize, and the notification right after it"),
	habit("mcp-messages", "what each message is",
		"basic/transports, stdio: a message a line, and nothing else; basic, Requests: an id is a string or an integer, and used once",
		"write each message in one call, without a newline inside, and count ids up"),
	habit("mcp-shutdown", "how the server is ended",
		"basic/lifecycle, Shutdown, stdio: its input is closed first, a signal comes when it does not end",
		"close the server's input and wait, then SIGTERM, then SIGKILL"),
}

// Rules on lives tell what a server may do.
var lives = []Misbehaviour{
	life("end-idle", "the input ends while nothing is asked",
		"fails where the server is still there after 5 s, or is killed by a signal",
		"read standard input all the time, and exit at its end: it is how a client that has gone is noticed"),
	life("end-in-flight", "the input ends with 8 requests under way",
		"fails where the server is still there after 5 s; how many it answers is said",
		"finish or drop what is under way, and exit"),
	life("end-at-start", "the input ends before the handshake",
		"fails where the server is still there after 5 s",
		"take an end of input for a goodbye from the first moment on"),
	life("sigterm", "the process is sent SIGTERM, its input stays open",
		"fails where it is still there after 5 s, or leaves what it started behind",
		"exit at SIGTERM, and hand it on to what was started: a wrapper that does not leaves the server behind"),
	life("sigint", "the process is sent SIGINT, its input stays open",
		"fails where it is still there after 5 s, or leaves what it started behind",
		"exit at SIGINT, and hand it on to what was started"),
	life("client-killed", "the process that started the server is killed",
		"fails where anything of the server is still there after 5 s",
		"exit at the end of standard input, and at the first EPIPE, and write no more about it: nobody else ends an orphan"),
	life("held-output", "the server ends, and its output is read to the end",
		"fails where a process that it started keeps the output open, or stays, a second longer",
		"end what was started, or give it streams of its own: who reads to the end waits for all who hold the pipe"),
	life("stray-output", "all output from the start to the end is looked at",
		"fails where a line of it is no message",
		"log to standard error, and keep dependencies from printing"),
	life("cancel", "requests are cancelled that are unknown, under way, and answered",
		"fails where the next request is not answered, or one twice; where LSP is spoken, a cancelled one is answered too",
		"take a cancellation of what is not there for a late one, and go on"),
	life("ids", "requests have ids of every type",
		"fails where a string, or a whole number below 2^31, comes back otherwise; of others only silence for good does",
		"give an id back as it came, with its type"),
	life("batch", "two requests come in an array",
		"fails where the server answers nothing any more; it may refuse",
		"answer an array with an error if batches are not supported, and go on"),
	life("unknown-method", "a method is asked for that there is not",
		"fails where it is not refused with -32601",
		"refuse with -32601 what is not known: clients ask for what they may find"),
	life("pipelined", "32 requests come at once",
		"fails where one is not answered, or twice; the order is free",
		"answer each request once, whatever else is under way"),
	life("large-request", "requests grow to 1 MiB",
		"fails where one is not answered; a refusal by an error is an answer",
		"read a message of any size, or refuse what is too large with an error and go on"),
	life("many-starts", "the server is started and ended 50 times",
		"fails where files, processes, descriptors or memory add up; slow where a start takes over 5 s",
		"remove temporary files at the end; start the program itself where a wrapper takes most of the time"),
	life("memory-growth", "10,000 requests are made, and more where memory grows",
		"fails where memory still grows by 100 B a request and more after three times as many",
		"forget a request when it is answered: look at maps by id, listeners, and logs in memory"),
	life("mcp-opening", "MCP: a session is opened",
		"2025-11-25 basic/lifecycle, Initialization, and basic/utilities/ping: the answer has version, capabilities and serverInfo; "+
			"ping is answered with an empty object; nothing but ping is asked of the client before notifications/initialized",
		"leave the handshake to an SDK, and ask the client for nothing before it is done"),
	life("mcp-version", "MCP: a version is asked for that there is not",
		"2025-11-25 basic/lifecycle, Version Negotiation: the answer names another one, which the server supports",
		"answer with the latest version that is supported, not with what was asked for"),
	life("mcp-discover", "MCP: server/discover comes first",
		"2026-07-28 basic/transports/stdio, Backward Compatibility: any answer but silence or the end; basic/versioning: "+
			"who answers it refuses versions that it does not support with -32022 and those it does",
		"refuse what is not known and go on: clients that know both kinds of servers ask this first"),
	life("mcp-notifications", "MCP: notifications come, one of them unknown",
		"basic, Notifications: the receiver must not send a response",
		"answer what has an id, and nothing else"),
	life("mcp-tools", "MCP: tools are listed, and one called that there is not",
		"server/tools, Data Types and Error Handling: each tool has a name and an inputSchema of type object; a tool that there is not is an error",
		"refuse a call of an unknown tool with -32602"),
}

package catalogue

var programs = []Misbehaviour{
	{
		Side: Program, Name: "reader-gone", Title: "the reader leaves before, during and after a write",
		Detail: "For each kind of pipe and each way to wait, a reader closes its end before a write, while one is under way, and after " +
			"one that fitted the pipe. Shown are the bytes that the kernel accepted, the signals it sent, and how long the writer took to notice.",
		Rule:   "bytes that were accepted, never read and not complained of are a silent loss; a writer that was told has noticed",
		Advice: "take EPIPE for the end of the conversation, and await an answer for what must not be lost",
	}, {
		Side: Program, Name: "exit-before-drain", Title: "a program exits while its output waits in a queue",
		Detail: "A program with non-blocking output writes what the pipe takes, queues the rest, and exits, as an event loop does whose " +
			"exit does not wait for its streams. Over a pipe and over a socket pair; node does it too where it is installed.",
		Rule:   "bytes that are missing from a program that exited with 0 are a silent loss",
		Advice: "exit by returning from the event loop, or when the stream says that it has drained",
	}, {
		Side: Program, Name: "orphan", Title: "a server whose client was killed",
		Detail: "A client starts a server with pipes and is killed. One server reads its standard input and leaves when that ends; one does " +
			"not read it; one goes on writing and takes no notice of errors.",
		Rule:   "a server that is still there half a second after its client's death is orphaned",
		Advice: "read standard input all the time, and exit at its end",
	}, {
		Side: Program, Name: "full-pipe", Title: "what a writer does while the pipe is full, and what it costs",
		Detail: "Messages of 1 MiB, bare and in chunks of several sizes, written with each way to wait against a reader that blocks. A writer " +
			"that sleeps before it tries again gets one pipe's worth across per sleep, whatever the chunk size.",
		Rule:   "slow where every framing gets below a fifth of a blocking writer's goodput, with the whole interval below one",
		Advice: "wait in the kernel: poll(2), an event loop, or a blocking descriptor",
	}, {
		Side: Program, Name: "both-write-first", Title: "both sides write before they read",
		Detail: "Two processes, a pipe each way. Each writes its message whole before it reads the other's: below what the pipe holds that " +
			"works, above it both wait for ever. The cure is a reader that reads while the writer writes.",
		Rule:   "a write that still waits after half a second, when nothing else is going on, is stuck",
		Advice: "read on a thread or task of its own, always",
	}, {
		Side: Program, Name: "stderr-undrained", Title: "a server logs to a standard error that nobody reads",
		Detail: "A server answers line by line and logs some bytes per request to standard error, which is a pipe that its client holds but " +
			"does not read. Requests are sent one at a time until an answer fails to come.",
		Rule:   "an answer that does not come within half a second is stuck",
		Advice: "whoever starts a server reads its standard error to the end, or gives it a file",
	}, {
		Side: Program, Name: "nonblocking-stdout", Title: "a child inherits a non-blocking standard output and does not know it",
		Detail: "The mode belongs to the pipe, not to the process: a parent, or a sibling, that makes it non-blocking does so for all. " +
			"A program that writes once and does not look at the count, one that does, and python's print where it is installed.",
		Rule:   "bytes that are missing from a program that exited with 0 are a silent loss",
		Advice: "look at the count of every write, and go on at the byte where it stopped when there is room",
	}, {
		Side: Program, Name: "head-of-line", Title: "a large message makes small ones wait",
		Detail: "A message of 4 MiB is under way to a reader that takes 47 ns for each byte, as a real server does; then a small message of higher " +
			"priority is sent. Bare lines make it wait for all of the large one, chunks for what the pipe holds and one chunk.",
		Rule:   "slow where the small message waits for at least half of the large one, in every plausible case",
		Advice: "send large messages in chunks and let small ones in between, or keep a second pipe for them",
	}, {
		Side: Program, Name: "interleave", Title: "several writers share one pipe",
		Detail: "Four processes write to one pipe, each its own letter: first bare writes of sizes around PIPE_BUF, read in pieces of several " +
			"sizes, then messages in each framing. A write longer than the system keeps whole is cut by the others, and the framing either " +
			"survives that, detects it, or delivers a mixture.",
		Rule:   "a mixture delivered as a message is corrupted; one that the framing reports is noticed",
		Advice: "let one process, or one lock, own the pipe",
	}, {
		Side: Program, Name: "split-utf8", Title: "a chunk ends inside a character",
		Detail: "Text of two, three and four byte characters in chunks, at every offset. One receiver puts bytes together and decodes the message; " +
			"one decodes each frame as text and drops what is none; one decodes each frame and replaces what is none.",
		Rule:   "a message altered is corrupted; one dropped is a silent loss",
		Advice: "split and join bytes; decode the message",
	}, {
		Side: Program, Name: "dirty-lines", Title: "something that is no message gets between the messages",
		Detail: "A message, an oddity, a message: a log line, a NUL, a blank line, CR LF, a newline inside a message, two messages on a line, a last " +
			"line without its newline. To several readers: ours, a line scanner, a JSON stream decoder, and a header reader.",
		Rule:   "the worst case decides: what is lost without an error is a silent loss, with one it is noticed",
		Advice: "keep standard output for messages alone; let a reader report a bad line and go on with the next one",
	}, {
		Side: Program, Name: "framing-mismatch", Title: "the two sides do not agree on a framing",
		Detail: "Each framing is sent to a reader of each other one, three messages, the last of them larger than a chunk, on a stream that stays " +
			"open. The reader understands them, refuses them, takes something else for a message, or waits for ever.",
		Rule:   "stuck where the reader waits for more of the first message; else refused where it says so, corrupted where it delivers what nobody sent",
		Advice: "put a deadline on the first answer, and say in its error which framing was spoken",
	}, {
		Side: Program, Name: "growth", Title: "readers whose cost grows with the message: byte by byte, and searching again",
		Detail: "Lines of growing size to a reader that reads one byte a call, to one that reads 4096 bytes and searches its whole buffer again after " +
			"each read, and to ours. Time for a byte against size, and the slope of time over size: 1 is linear, 2 is quadratic.",
		Rule:   "grows where the slope is above 1.3 and its interval above 1; slow where some size takes three times as long as with our reader",
		Advice: "remember how far the buffer has been searched, and read what there is in one call",
	}, {
		Side: Program, Name: "no-newline", Title: "a line that never ends",
		Detail: "Bytes without a newline, to readers with a limit of 10 MiB: ours, which closes at the limit; ours, which skips the line and goes on, " +
			"with 1 GiB; and one that looks at the length when the newline has come, as printed, as far as is safe.",
		Rule:   "sound where the error comes while the line still arrives, with at most three times the limit of memory held",
		Advice: "check the length of what is buffered after every read, before the buffer grows",
	},
}

// Rules on servers: each names the verdict that drive gives.
var servers = []Misbehaviour{
	{
		Side: Server, Name: "deaf", Sign: '@', Default: 1 << 20, Title: "reads on but never answers again once a message is larger",
		Seen:   "a reader's cap whose error nobody handles (MCP TypeScript SDK 1.32)",
		Rule:   "deaf from the first size above the threshold: the process lives and answers nothing",
		Advice: "answer what is too large with an error; as a client, put a deadline on every answer",
	}, {
		Side: Server, Name: "exit0", Sign: '@', Default: 1 << 20, Title: "exits with code 0 and no word once a message is larger",
		Seen:   "an end of input taken for a goodbye (MCP TypeScript SDK 1.32)",
		Rule:   "exit 0 from the first size above the threshold",
		Advice: "answer with an error and go on; as a client, take an end of output with requests in flight for a failure",
	}, {
		Side: Server, Name: "error", Sign: '@', Default: 1 << 20, Title: "answers a larger message with a JSON-RPC error and goes on",
		Seen:   "servers that check their limit",
		Rule:   "error reply from the first size above the threshold",
		Advice: "document the limit; this is how one should look",
	}, {
		Side: Server, Name: "limit", Sign: '@', Default: 1 << 20, Title: "exits with code 1 and names the limit on stderr once a message is larger",
		Seen:   "bufio.Scanner's token too long, asyncio's LimitOverrunError",
		Rule:   "exit 1 from the first size above the threshold",
		Advice: "skip the message and answer with an error; as a client, show the server's last words",
	}, {
		Side: Server, Name: "never-read", Sign: '@', Title: "reads no more once a message is larger; by default, after the handshake",
		Seen:   "a writer and a reader that wait for each other",
		Rule:   "deaf, with the request not taken whole by the pipe",
		Advice: "read while writing; as a client, put a deadline on writes too",
	}, {
		Side: Server, Name: "dirty", Title: "writes log lines, blank lines and other JSON to stdout between answers",
		Seen:   "print in a server, or a dependency that logs",
		Rule:   "ok, with a warning that lines of output are no messages",
		Advice: "log to standard error; as a client, skip a line that is no message and say so",
	}, {
		Side: Server, Name: "split-utf8", Sign: '=', Default: 4096,
		Title:  "decodes its input in pieces of so many bytes, so that a character cut in two becomes U+FFFD",
		Seen:   "chunk.toString() for each chunk",
		Rule:   "corrupt: the answer is not what was sent",
		Advice: "join bytes first, decode text then",
	}, {
		Side: Server, Name: "trickle", Sign: '=', Default: 16, Title: "writes its answers so many bytes at a time",
		Seen:   "unbuffered output",
		Rule:   "ok, at the cost of a system call for each piece",
		Advice: "buffer an answer and write it in one call; as a client, wait for the whole of it",
	}, {
		Side: Server, Name: "stderr-flood", Sign: '=', Default: 64 << 10, Title: "writes so many bytes to stderr before each answer",
		Seen:   "servers that log what they are asked",
		Rule:   "ok with a warning; deadlock where standard error is not read",
		Advice: "log less than a pipe holds; as a client, drain standard error",
	}, {
		Side: Server, Name: "reorder", Title: "answers requests that come together in the reverse order",
		Seen:   "servers with several threads",
		Rule:   "ok: JSON-RPC promises no order",
		Advice: "as a client, match answers to requests by their id",
	}, {
		Side: Server, Name: "corrupt", Sign: '@', Title: "alters one character of each larger answer",
		Seen:   "writers without a lock, re-used buffers",
		Rule:   "corrupt from the first size above the threshold",
		Advice: "let one writer own standard output, and one message own a buffer",
	}, {
		Side: Server, Name: "truncate-at-exit", Sign: '@', Default: 64 << 10, Title: "exits with code 0 in the middle of the first larger answer",
		Seen:   "process.exit() with a pipe behind stdout",
		Rule:   "truncated from the first size above the threshold",
		Advice: "flush before exit; as a client, take an end inside a message for an error",
	}, {
		Side: Server, Name: "quadratic", Title: "searches and copies all it has of a message for each 4 KiB that come",
		Seen:   "Buffer.concat for each chunk",
		Rule:   "grows faster than linear, over a sweep of sizes",
		Advice: "remember how far the buffer was searched, and grow it by doubling",
	},
}

// Rules on clients tell what a server may do.
var clients = []Misbehaviour{
	{
		Side: Client, Name: "dirty-line", Title: "lines that are no messages, blank ones among them, come before a request",
		Rule:   "ok where the request is answered",
		Advice: "answer the request: a bad line costs one error at most, not the session",
	}, {
		Side: Client, Name: "split-utf8", Title: "characters of 2, 3 and 4 bytes are cut at every byte of them",
		Rule:   "corrupt where a character comes back altered",
		Advice: "give them back whole: join bytes first, decode text then",
	}, {
		Side: Client, Name: "trickle", Title: "a request comes one byte at a time",
		Rule:   "ok where the request is answered",
		Advice: "answer it like any other",
	}, {
		Side: Client, Name: "slow-reader", Title: "answers of 4 MiB in all are not read for a second",
		Rule:   "ok where every answer comes whole once it is read",
		Advice: "wait, and deliver every byte then; memory that grows with what is unread is a debt",
	}, {
		Side: Client, Name: "unread-stderr", Title: "standard error is not read",
		Rule:   "deadlock where answers stop while standard error's pipe is full",
		Advice: "answer 200 requests all the same: log less than a pipe holds",
	}, {
		Side: Client, Name: "nonblocking-stdout", Title: "standard output is in non-blocking mode, and not read for a moment",
		Rule:   "truncated where bytes of an answer are missing",
		Advice: "wait for room, and write again what was not taken",
	}, {
		Side: Client, Name: "closed-stdout", Title: "the client stops reading for good, and asks on",
		Rule:   "ok where the server ends in time; else it stays, and may burn a CPU",
		Advice: "end soon, and without burning a CPU: nobody will hear it",
	}, {
		Side: Client, Name: "eof-mid-frame", Title: "the input ends in the middle of a request",
		Rule:   "ok where the server ends in time; else it stays, and may burn a CPU",
		Advice: "end soon: the rest will not come",
	}, {
		Side: Client, Name: "wrong-framing", Title: "the client speaks the other framing",
		Rule:   "ok where the server answers anything or ends; else it waits in silence",
		Advice: "say what is wrong, or end; a client that waits learns nothing",
	}, {
		Side: Client, Name: "lying-length", Title: "a header announces more bytes than come (2 GB)",
		Rule:   "fails where memory grows by half of what is announced",
		Advice: "allocate what arrives, not what is announced",
	},
}

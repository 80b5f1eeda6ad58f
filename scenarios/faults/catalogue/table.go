package catalogue

// programs are what programs do wrong at their own pipes.
var programs = []Misbehaviour{
	{
		Name:  "reader-gone",
		Side:  Program,
		Title: "the reader leaves before, during and after a write",
		Advice: "take EPIPE for the end of the conversation, and await an answer for what must " +
			"not be lost",
	},
	{
		Name:  "exit-before-drain",
		Side:  Program,
		Title: "a program exits while its output waits in a queue",
		Advice: "exit by returning from the event loop, or when the stream says that it has " +
			"drained",
	},
	{
		Name:   "orphan",
		Side:   Program,
		Title:  "a server whose client was killed",
		Advice: "read standard input all the time, and exit at its end",
	},
	{
		Name:   "full-pipe",
		Side:   Program,
		Title:  "what a writer does while the pipe is full, and what it costs",
		Advice: "wait in the kernel: poll(2), an event loop, or a blocking descriptor",
	},
	{
		Name:   "both-write-first",
		Side:   Program,
		Title:  "both sides write before they read",
		Advice: "read on a thread or task of its own, always",
	},
	{
		Name:  "stderr-undrained",
		Side:  Program,
		Title: "a server logs to a standard error that nobody reads",
		Advice: "whoever starts a server reads its standard error to the end, or gives it a " +
			"file",
	},
	{
		Name:  "nonblocking-stdout",
		Side:  Program,
		Title: "a child inherits a non-blocking standard output and does not know it",
		Advice: "look at the count of every write, and go on at the byte where it stopped when " +
			"there is room",
	},
	{
		Name:  "head-of-line",
		Side:  Program,
		Title: "a large message makes small ones wait",
		Advice: "send large messages in chunks and let small ones in between, or keep a second " +
			"pipe for them",
	},
	{
		Name:   "interleave",
		Side:   Program,
		Title:  "several writers share one pipe",
		Advice: "let one process, or one lock, own the pipe",
	},
	{
		Name:   "split-utf8",
		Side:   Program,
		Title:  "a chunk ends inside a character",
		Advice: "split and join bytes; decode the message",
	},
	{
		Name:  "dirty-lines",
		Side:  Program,
		Title: "something that is no message gets between the messages",
		Advice: "keep standard output for messages alone; let a reader report a bad line and go " +
			"on with the next one",
	},
	{
		Name:  "framing-mismatch",
		Side:  Program,
		Title: "the two sides do not agree on a framing",
		Advice: "put a deadline on the first answer, and say in its error which framing was " +
			"spoken",
	},
	{
		Name:  "growth",
		Side:  Program,
		Title: "readers whose cost grows with the message: byte by byte, and searching again",
		Advice: "remember how far the buffer has been searched, and read what there is in one " +
			"call",
	},
	{
		Name:   "no-newline",
		Side:   Program,
		Title:  "a line that never ends",
		Advice: "check the length of what is buffered after every read, before the buffer grows",
	},
}

// servers are what servers do to their clients.
var servers = []Misbehaviour{
	{
		Name:    "deaf",
		Side:    Server,
		Sign:    '@',
		Default: 1 << 20,
		Title:   "reads on but never answers again once a message is larger",
		Advice: "answer what is too large with an error; as a client, put a deadline on every " +
			"answer",
	},
	{
		Name:    "exit0",
		Side:    Server,
		Sign:    '@',
		Default: 1 << 20,
		Title:   "exits with code 0 and no word once a message is larger",
		Advice: "answer with an error and go on; as a client, take an end of output with " +
			"requests in flight for a failure",
	},
	{
		Name:    "error",
		Side:    Server,
		Sign:    '@',
		Default: 1 << 20,
		Title:   "answers a larger message with a JSON-RPC error and goes on",
		Advice:  "document the limit; this is how one should look",
	},
	{
		Name:    "limit",
		Side:    Server,
		Sign:    '@',
		Default: 1 << 20,
		Title:   "exits with code 1 and names the limit on stderr once a message is larger",
		Advice: "skip the message and answer with an error; as a client, show the server's last " +
			"words",
	},
	{
		Name:   "never-read",
		Side:   Server,
		Sign:   '@',
		Title:  "reads no more once a message is larger; by default, after the handshake",
		Advice: "read while writing; as a client, put a deadline on writes too",
	},
	{
		Name:   "dirty",
		Side:   Server,
		Title:  "writes log lines, blank lines and other JSON to stdout between answers",
		Advice: "log to standard error; as a client, skip a line that is no message and say so",
	},
	{
		Name:    "split-utf8",
		Side:    Server,
		Sign:    '=',
		Default: 4 << 10,
		Title: "decodes its input in pieces of so many bytes, so that a character cut in two " +
			"becomes U+FFFD",
		Advice: "join bytes first, decode text then",
	},
	{
		Name:    "trickle",
		Side:    Server,
		Sign:    '=',
		Default: 16,
		Title:   "writes its answers so many bytes at a time",
		Advice: "buffer an answer and write it in one call; as a client, wait for the whole of " +
			"it",
	},
	{
		Name:    "stderr-flood",
		Side:    Server,
		Sign:    '=',
		Default: 64 << 10,
		Title:   "writes so many bytes to stderr before each answer",
		Advice:  "log less than a pipe holds; as a client, drain standard error",
	},
	{
		Name:   "reorder",
		Side:   Server,
		Title:  "answers requests that come together in the reverse order",
		Advice: "as a client, match answers to requests by their id",
	},
	{
		Name:    "corrupt",
		Side:    Server,
		Sign:    '@',
		Default: 64 << 10,
		Title:   "alters one character of each larger answer",
		Advice:  "let one writer own standard output, and one message own a buffer",
	},
	{
		Name:    "truncate-at-exit",
		Side:    Server,
		Sign:    '@',
		Default: 64 << 10,
		Title:   "exits with code 0 in the middle of the first larger answer",
		Advice:  "flush before exit; as a client, take an end inside a message for an error",
	},
	{
		Name:    "large-answer",
		Side:    Server,
		Sign:    '=',
		Default: 16 << 20,
		Title:   "answers each call with so many bytes",
		Advice: "keep results small, or page them; as a client, fail that one call and say " +
			"which limit it met",
	},
	{
		Name: "odd-version",
		Side: Server,
		Title: "refuses server/discover, and answers initialize with a version that nobody " +
			"knows",
		Advice: "answer with a version that the client may know; as a client, disconnect and " +
			"name both versions",
	},
	{
		Name:  "old-version",
		Side:  Server,
		Title: "refuses server/discover, and answers initialize with the version 2024-11-05",
		Advice: "answer with the latest version that is known; as a client, open with " +
			"initialize where discover is refused, and speak the older version or " +
			"disconnect",
	},
	{
		Name:   "quadratic",
		Side:   Server,
		Title:  "searches and copies all it has of a message for each 4 KiB that come",
		Advice: "remember how far the buffer was searched, and grow it by doubling",
	},
}

// clients are what clients do to a server.
var clients = []Misbehaviour{
	{
		Name:   "dirty-line",
		Side:   Client,
		Title:  "lines that are no messages, blank ones among them, come before a request",
		Advice: "answer the request: a bad line costs one error at most, not the session",
	},
	{
		Name:   "split-utf8",
		Side:   Client,
		Title:  "characters of 2, 3 and 4 bytes are cut at every byte of them",
		Advice: "give them back whole: join bytes first, decode text then",
	},
	{
		Name:   "trickle",
		Side:   Client,
		Title:  "a request comes one byte at a time",
		Advice: "answer it like any other",
	},
	{
		Name:  "slow-reader",
		Side:  Client,
		Title: "answers of 4 MiB in all are not read for a second",
		Advice: "wait, and deliver every byte then; memory that grows with what is unread is a " +
			"debt",
	},
	{
		Name:   "unread-stderr",
		Side:   Client,
		Title:  "standard error is not read",
		Advice: "answer 200 requests all the same: log less than a pipe holds",
	},
	{
		Name:   "nonblocking-stdout",
		Side:   Client,
		Title:  "standard output is in non-blocking mode, and not read for a moment",
		Advice: "wait for room, and write again what was not taken",
	},
	{
		Name:   "closed-stdout",
		Side:   Client,
		Title:  "the client stops reading for good, and asks on",
		Advice: "end soon, and without burning a CPU: nobody will hear it",
	},
	{
		Name:   "eof-mid-frame",
		Side:   Client,
		Title:  "the input ends in the middle of a request",
		Advice: "end soon: the rest will not come",
	},
	{
		Name:   "wrong-framing",
		Side:   Client,
		Title:  "the client speaks the other framing",
		Advice: "say what is wrong, or end; a client that waits learns nothing",
	},
	{
		Name:   "lying-length",
		Side:   Client,
		Title:  "a header announces more bytes than come (2 GB)",
		Advice: "allocate what arrives, not what is announced",
	},
}

// surroundings are what the other ends of a program's streams do.
var surroundings = []Misbehaviour{
	{
		Name:  "reference",
		Side:  Surroundings,
		Title: "standard output is a file, twice",
		Advice: "end what was started, or give it streams of its own: who reads to the end " +
			"waits for all who hold the pipe",
	},
	{
		Name:   "fast-reader",
		Side:   Surroundings,
		Title:  "standard output is a pipe that is read at once",
		Advice: "write the same to a pipe as to a file",
	},
	{
		Name:   "late-reader",
		Side:   Surroundings,
		Title:  "nobody reads standard output for half a second",
		Advice: "wait for room in the pipe, and exit when all is written",
	},
	{
		Name:   "slow-reader",
		Side:   Surroundings,
		Title:  "standard output is read slowly, a little at a time",
		Advice: "wait for room in the pipe, as often as it takes",
	},
	{
		Name:   "small-pipe",
		Side:   Surroundings,
		Title:  "standard output is a pipe that holds one page",
		Advice: "look at the count of every write, and rely on no capacity",
	},
	{
		Name: "socketpair",
		Side: Surroundings,
		Title: "standard output is one of a pair of sockets, as Node gives its children, and " +
			"is read late",
		Advice: "write to descriptor 1 instead of opening /dev/stdout, which a socket refuses",
	},
	{
		Name:   "fifo",
		Side:   Surroundings,
		Title:  "standard output is a FIFO",
		Advice: "write the same to a FIFO as to a file",
	},
	{
		Name:   "nonblocking-pipe",
		Side:   Surroundings,
		Title:  "standard output is a pipe in non-blocking mode that is read late",
		Advice: "when a write is refused, wait for room and go on at the byte where it stopped",
	},
	{
		Name:   "terminal",
		Side:   Surroundings,
		Title:  "standard output is a terminal",
		Advice: "end the same way whoever reads",
	},
	{
		Name:   "block-buffer",
		Side:   Surroundings,
		Title:  "what comes through a pipe is compared with what comes to a terminal, in time",
		Advice: "flush after each line that somebody waits for",
	},
	{
		Name:   "reader-leaves-at-once",
		Side:   Surroundings,
		Title:  "the reader closes its end before the first byte",
		Advice: "take a broken pipe for the end: exit, and start no more work",
	},
	{
		Name:   "reader-leaves-after-line",
		Side:   Surroundings,
		Title:  "the reader closes its end after the first line",
		Advice: "take a broken pipe for the end: exit, and start no more work",
	},
	{
		Name:   "reader-leaves-midway",
		Side:   Surroundings,
		Title:  "the reader closes its end in the middle of the output",
		Advice: "take a broken pipe for the end: exit, and start no more work",
	},
	{
		Name:  "full-device",
		Side:  Surroundings,
		Title: "standard output is a device without room (/dev/full)",
		Advice: "look at the errors of write, flush and close, and exit with another code than " +
			"0",
	},
	{
		Name:   "stderr-unread",
		Side:   Surroundings,
		Title:  "nobody reads standard error",
		Advice: "log less than a pipe holds, or not in the way of the work",
	},
	{
		Name:   "stdin-closed",
		Side:   Surroundings,
		Title:  "descriptor 0 is closed",
		Advice: "take a standard input that cannot be read for an empty one, or say so and exit",
	},
	{
		Name:   "stdin-empty",
		Side:   Surroundings,
		Title:  "standard input ends at once",
		Advice: "exit at the end of the input",
	},
	{
		Name:   "stdin-silent",
		Side:   Surroundings,
		Title:  "standard input stays open and nothing comes for half a second, then it ends",
		Advice: "wait in read or poll, and exit at the end of the input",
	},
	{
		Name:   "stdin-trickle",
		Side:   Surroundings,
		Title:  "the input comes in small pieces",
		Advice: "read until the end of the input: a read may bring less than was asked for",
	},
	{
		Name:   "stdin-cut-line",
		Side:   Surroundings,
		Title:  "the input ends in the middle of a line",
		Advice: "take what stands before the end of the input for a line",
	},
}

// habits are what is looked at in clients, whatever their server does.
var habits = []Misbehaviour{
	{
		Name:   "good-server",
		Side:   Habits,
		Title:  "the server has no fault",
		Advice: "close the server's input, wait for it, and end it by force if it stays",
	},
	{
		Name:   "failed-starts",
		Side:   Habits,
		Title:  "the server ends at the first message, at each start",
		Advice: "close both ends of all pipes of a server that failed, and wait for its process",
	},
	{
		Name:  "mcp-opening",
		Side:  Habits,
		Title: "what comes first on a connection",
		Advice: "send nothing but ping before the answer to initialize, and the notification " +
			"right after it",
	},
	{
		Name:   "mcp-messages",
		Side:   Habits,
		Title:  "what each message is",
		Advice: "write each message in one call, without a newline inside, and count ids up",
	},
	{
		Name:  "mcp-cancel",
		Side:  Habits,
		Title: "the server does not answer, and the client gives up",
		Advice: "send notifications/cancelled with the id of what is not waited for any more, " +
			"and ignore its answer",
	},
	{
		Name:  "mcp-subscriptions",
		Side:  Habits,
		Title: "the server ends while the client listens to changes",
		Advice: "keep what is subscribed to, and subscribe again before all else: a server that " +
			"starts knows of no subscription",
	},
	{
		Name:   "mcp-shutdown",
		Side:   Habits,
		Title:  "how the server is ended",
		Advice: "close the server's input and wait, then SIGTERM, then SIGKILL",
	},
}

// lives are what starting, using and ending a server asks of it.
var lives = []Misbehaviour{
	{
		Name:  "end-idle",
		Side:  Life,
		Title: "the input ends while nothing is asked",
		Advice: "read standard input all the time, and exit at its end: it is how a client that " +
			"has gone is noticed",
	},
	{
		Name:   "end-in-flight",
		Side:   Life,
		Title:  "the input ends with 8 requests under way",
		Advice: "finish or drop what is under way, and exit",
	},
	{
		Name:   "end-at-start",
		Side:   Life,
		Title:  "the input ends before the handshake",
		Advice: "take an end of input for a goodbye from the first moment on",
	},
	{
		Name:  "sigterm",
		Side:  Life,
		Title: "the process is sent SIGTERM, its input stays open",
		Advice: "exit at SIGTERM, and hand it on to what was started: a wrapper that does not " +
			"leaves the server behind",
	},
	{
		Name:   "sigint",
		Side:   Life,
		Title:  "the process is sent SIGINT, its input stays open",
		Advice: "exit at SIGINT, and hand it on to what was started",
	},
	{
		Name:  "client-killed",
		Side:  Life,
		Title: "the process that started the server is killed",
		Advice: "exit at the end of standard input, and at the first EPIPE, and write no more " +
			"about it: nobody else ends an orphan",
	},
	{
		Name:  "held-output",
		Side:  Life,
		Title: "the server ends, and its output is read to the end",
		Advice: "end what was started, or give it streams of its own: who reads to the end " +
			"waits for all who hold the pipe",
	},
	{
		Name:   "stray-output",
		Side:   Life,
		Title:  "all output from the start to the end is looked at",
		Advice: "log to standard error, and keep dependencies from printing",
	},
	{
		Name:   "cancel",
		Side:   Life,
		Title:  "requests are cancelled that are unknown, under way, and answered",
		Advice: "take a cancellation of what is not there for a late one, and go on",
	},
	{
		Name:   "ids",
		Side:   Life,
		Title:  "requests have ids of every type",
		Advice: "give an id back as it came, with its type",
	},
	{
		Name:   "batch",
		Side:   Life,
		Title:  "two requests come in an array",
		Advice: "answer an array with an error if batches are not supported, and go on",
	},
	{
		Name:   "unknown-method",
		Side:   Life,
		Title:  "a method is asked for that there is not",
		Advice: "refuse with -32601 what is not known: clients ask for what they may find",
	},
	{
		Name:   "pipelined",
		Side:   Life,
		Title:  "32 requests come at once",
		Advice: "answer each request once, whatever else is under way",
	},
	{
		Name:  "large-request",
		Side:  Life,
		Title: "requests grow to 1 MiB",
		Advice: "read a message of any size, or refuse what is too large with an error and go " +
			"on",
	},
	{
		Name:  "many-starts",
		Side:  Life,
		Title: "the server is started and ended 50 times",
		Advice: "remove temporary files at the end; start the program itself where a wrapper " +
			"takes most of the time",
	},
	{
		Name:  "memory-growth",
		Side:  Life,
		Title: "10,000 requests are made, and more where memory grows",
		Advice: "forget a request when it is answered: look at maps by id, listeners, and logs " +
			"in memory",
	},
	{
		Name:  "mcp-opening",
		Side:  Life,
		Title: "MCP: a session is opened",
		Advice: "leave the handshake to an SDK, and ask the client for nothing before it is " +
			"done",
	},
	{
		Name:   "mcp-version",
		Side:   Life,
		Title:  "MCP: a version is asked for that there is not",
		Advice: "answer with the latest version that is supported, not with what was asked for",
	},
	{
		Name:  "mcp-discover",
		Side:  Life,
		Title: "MCP: server/discover comes first",
		Advice: "refuse what is not known and go on: clients that know both kinds of servers " +
			"ask this first",
	},
	{
		Name:   "mcp-notifications",
		Side:   Life,
		Title:  "MCP: notifications come, one of them unknown",
		Advice: "answer what has an id, and nothing else",
	},
	{
		Name:   "mcp-tools",
		Side:   Life,
		Title:  "MCP: tools are listed, and one called that there is not",
		Advice: "refuse a call of an unknown tool with -32602",
	},
	{
		Name:   "mcp-cancel",
		Side:   Life,
		Title:  "MCP: a call is cancelled that is under way",
		Advice: "end the work, and send no answer: nobody waits for it",
	},
	{
		Name:  "mcp-subscriptions",
		Side:  Life,
		Title: "MCP: the client listens to changes of the list of tools",
		Advice: "acknowledge what is agreed to first, be it nothing, and name the subscription " +
			"in each notification",
	},
}

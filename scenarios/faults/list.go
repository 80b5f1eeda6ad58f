package faults

// A Misbehaviour is a way in which programs fail at their own pipes.
type Misbehaviour struct{ Name, Title, Advice string }

var programs = []Misbehaviour{
	{
		Name:  "reader-gone",
		Title: "the reader leaves before, during and after a write",
		Advice: "take EPIPE for the end of the conversation, and await an answer for what must " +
			"not be lost",
	},
	{
		Name:  "exit-before-drain",
		Title: "a program exits while its output waits in a queue",
		Advice: "exit by returning from the event loop, or when the stream says that it has " +
			"drained",
	},
	{
		Name:   "orphan",
		Title:  "a server whose client was killed",
		Advice: "read standard input all the time, and exit at its end",
	},
	{
		Name:   "full-pipe",
		Title:  "what a writer does while the pipe is full, and what it costs",
		Advice: "wait in the kernel: poll(2), an event loop, or a blocking descriptor",
	},
	{
		Name:   "both-write-first",
		Title:  "both sides write before they read",
		Advice: "read on a thread or task of its own, always",
	},
	{
		Name:  "stderr-undrained",
		Title: "a server logs to a standard error that nobody reads",
		Advice: "whoever starts a server reads its standard error to the end, or gives it a " +
			"file",
	},
	{
		Name:  "nonblocking-stdout",
		Title: "a child inherits a non-blocking standard output and does not know it",
		Advice: "look at the count of every write, and go on at the byte where it stopped when " +
			"there is room",
	},
	{
		Name:  "head-of-line",
		Title: "a large message makes small ones wait",
		Advice: "send large messages in chunks and let small ones in between, or keep a second " +
			"pipe for them",
	},
	{
		Name:   "interleave",
		Title:  "several writers share one pipe",
		Advice: "let one process, or one lock, own the pipe",
	},
	{
		Name:   "split-utf8",
		Title:  "a chunk ends inside a character",
		Advice: "split and join bytes; decode the message",
	},
	{
		Name:  "dirty-lines",
		Title: "something that is no message gets between the messages",
		Advice: "keep standard output for messages alone; let a reader report a bad line and go " +
			"on with the next one",
	},
	{
		Name:  "framing-mismatch",
		Title: "the two sides do not agree on a framing",
		Advice: "put a deadline on the first answer, and say in its error which framing was " +
			"spoken",
	},
	{
		Name:  "growth",
		Title: "readers whose cost grows with the message: byte by byte, and searching again",
		Advice: "remember how far the buffer has been searched, and read what there is in one " +
			"call",
	},
	{
		Name:   "no-newline",
		Title:  "a line that never ends",
		Advice: "check the length of what is buffered after every read, before the buffer grows",
	},
}

package main

import "strings"

// A line for each name that the layers below know; a test holds the two
// against each other.
var (
	framingLines = map[string]string{
		"raw":             "nothing on the wire, both ends know the size: the floor of every comparison",
		"ndjson":          "a message a line",
		"ndjson-bytewise": "the same, read one byte a call: slow as documents print it",
		"ndjson-rescan":   "the same, the whole buffer searched again after each 4 KiB read: slow as documents print it",
		"content-length":  "a Content-Length header before each message, as language servers do",
		"chunked":         "id:index:total:data lines of at most the given size each",
		"adaptive":        "a bare line where the message fits the size, chunks above",
		"length-prefix":   "four bytes of length before each message: what a framing can reach",
		"chunked+zstd":    "chunks of compressed data",
	}
	pipeLines = map[string]string{
		"anonymous":  "pipe(2), CreatePipe on Windows: what a shell's | is",
		"fifo":       "a pipe with a name in the file system",
		"socketpair": "a pair of UNIX sockets: what Node.js gives its children",
		"named":      "a Windows named pipe, overlapped",
	}
	ioLines = map[string]string{
		"poller":   "Go's netpoller parks the goroutine: what os.Pipe does",
		"blocking": "the system call waits: raw calls on a locked thread",
		"poll":     "poll(2) when the call says not now",
		"spin":     "the call again, at once",
		"sleep":    "the call again after a pause, as one widely used SDK does",
	}
)

// describe finds the line of a name that may have a parameter.
func describe(lines map[string]string, name string) string {
	bare, _, _ := strings.Cut(strings.ReplaceAll(name, "=", ":"), ":")
	return lines[bare]
}

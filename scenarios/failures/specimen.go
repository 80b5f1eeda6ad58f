package failures

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// specimens are small programs with one fault each. `pipebench specimen NAME` runs one of them.
var specimens = map[string]func() error{
	"print-on":       printOn,
	"queue-and-exit": queueAndExit,
	"write-once":     writeOnce,
	"ignore-end":     ignoreEnd,
}

// RunSpecimen makes this process behave as one of the specimens, small programs with a fault. It
// returns when the specimen ends.
func RunSpecimen(name string) error {
	run := specimens[name]
	if run == nil {
		return fmt.Errorf("no specimen is called %q", name)
	}
	return run()
}

// printOn prints for ever, and ignores errors.
func printOn() error {
	signal.Ignore(syscall.SIGPIPE)
	for {
		if _, err := os.Stdout.Write(output()); err != nil {
			time.Sleep(time.Millisecond) // stands for other work
		}
	}
}

// queueAndExit writes what fits into the pipe, as an event loop does, and exits while the rest is
// still in its queue.
func queueAndExit() error {
	if err := setStdoutNonblocking(); err != nil {
		return err
	}
	left := output()
	for len(left) > 0 {
		n, refused, err := writeStdout(left)
		if err != nil || refused {
			return err
		}
		left = left[n:]
	}
	return nil
}

// writeOnce makes one write, and ignores how many bytes it wrote.
func writeOnce() error {
	_, _, err := writeStdout(output())
	return err
}

// ignoreEnd is a server that refuses every request. When its input ends, it does not exit.
func ignoreEnd() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		m, err := jsonrpc.Parse(lines.Bytes())
		if err != nil || m.Kind() != jsonrpc.Request {
			continue
		}
		refusal := jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}
		answer := jsonrpc.AppendError(nil, m.ID, refusal)
		if _, err := os.Stdout.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
	time.Sleep(time.Hour)
	return nil
}

// output returns what these faulty programs mean to write: more bytes than any pipe holds.
func output() []byte {
	const size = 1 << 20
	const line = "a line of what a specimen writes\n"
	return []byte(strings.Repeat(line, size/len(line)+1))
}

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

var stderrUndrained = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "stderr-undrained"),
	Deadline:     time.Minute,
	run:          runStderrUndrained,
}

// A Logging is the evidence of stderr-undrained.
type Logging struct {
	LogBytes int    `json:"log_bytes"` // written to standard error per request
	Drained  bool   `json:"drained"`   // the client reads standard error
	Asked    int    `json:"asked"`     // requests sent
	Answered int    `json:"answered"`
	Logged   int64  `json:"logged"` // bytes of standard error when the last answer came
	GiveUpNS int64  `json:"give_up_ns"`
	Error    string `json:"error,omitempty"`
}

func judgeLogging(e Logging) Verdict {
	switch {
	case e.Answered == e.Asked:
		return Sound
	case e.Error != "":
		return Noticed
	}
	return Stuck
}

func adviseLogging(v Verdict, e Logging) string {
	switch {
	case v == Stuck:
		return fmt.Sprintf("The server stopped answering after %d requests, with %d bytes of log in the pipe: it waits in a write to standard error, "+
			"and from outside looks as if it had hung in its work. Whoever starts a server reads its standard error to the end, or gives it a file or /dev/null.", e.Answered, e.Logged)
	case e.Drained:
		return "With standard error read the same server answers all requests."
	}
	return "The log fitted the pipe for as long as this run lasted. It will not for ever."
}

func runStderrUndrained(ctx context.Context, s *stage) error {
	for _, c := range []struct {
		logBytes int
		drained  bool
	}{{0, false}, {4 << 10, false}, {64<<10 + 1, false}, {64<<10 + 1, true}} {
		part := fmt.Sprintf("logs-%d", c.logBytes)
		if c.drained {
			part += "-drained"
		}
		s.step("%s", part)
		e, err := logging(ctx, c.logBytes, c.drained)
		if err != nil {
			return err
		}
		v := judgeLogging(e)
		if err := s.fault(part, v, e, adviseLogging(v, e)); err != nil {
			return err
		}
	}
	return nil
}

// mostRequests are more than a pipe's worth of logs at 4 KiB each.
const mostRequests = 64

func logging(ctx context.Context, logBytes int, drained bool) (Logging, error) {
	e := Logging{LogBytes: logBytes, Drained: drained, GiveUpNS: giveUp.Nanoseconds()}
	a, err := actor.Prepare(ctx, "logger", logBytes)
	if err != nil {
		return e, err
	}
	defer a.Dismiss()
	errors1, stderr, err := os.Pipe()
	if err != nil {
		return e, err
	}
	defer errors1.Close()
	a.Cmd.Stderr = stderr
	in, err := a.Cmd.StdinPipe()
	if err != nil {
		return e, err
	}
	out, err := a.Cmd.StdoutPipe()
	if err != nil {
		return e, err
	}
	err = a.Start()
	stderr.Close()
	if err != nil {
		return e, err
	}
	drain := make(chan struct{})
	go func() {
		defer close(drain)
		if drained {
			io.Copy(io.Discard, errors1)
		}
	}()
	defer func() { a.Dismiss(); <-drain }()
	answers := answersOf(out)
	for range mostRequests {
		e.Asked++
		if _, err := io.WriteString(in, "ask\n"); err != nil {
			e.Error = err.Error()
			return e, nil
		}
		err := answers.next(ctx, giveUp)
		if errors.Is(err, errLate) {
			return e, nil
		}
		if err != nil {
			e.Error = err.Error()
			return e, nil
		}
		e.Answered++
		e.Logged += int64(logBytes)
	}
	return e, nil
}

// playLogger answers each line of standard input, and logs before it does.
func playLogger(s *actor.Stage) error {
	var logBytes int
	if err := s.Args(&logBytes); err != nil {
		return err
	}
	log := make([]byte, logBytes)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := os.Stderr.Write(log); err != nil {
			return err
		}
		if _, err := fmt.Println("answer"); err != nil {
			return err
		}
	}
	return lines.Err()
}

// errLate is returned when an answer did not come in time.
var errLate = errors.New("no answer in time")

// answers are the lines of a stream, read by a goroutine that ends with it.
type answers struct {
	lines chan string
	err   error // why there are no more; to be read once lines is closed
}

func answersOf(r io.Reader) *answers {
	a := &answers{lines: make(chan string, mostRequests)}
	go func() {
		defer close(a.lines)
		in := bufio.NewScanner(r)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			a.lines <- in.Text()
		}
		if a.err = in.Err(); a.err == nil {
			a.err = io.EOF
		}
	}()
	return a
}

// next waits for one line.
func (a *answers) next(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case _, ok := <-a.lines:
		if !ok {
			return a.err
		}
		return nil
	case <-timer.C:
		return errLate
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// Logging is the evidence of stderr-undrained.
type Logging struct {
	Summarised
	LogBytes int    `json:"log_bytes"` // written to standard error per request
	Drained  bool   `json:"drained"`   // the client reads standard error
	Asked    int    `json:"asked"`     // requests sent
	Answered int    `json:"answered"`
	Logged   int64  `json:"logged"` // bytes of standard error when the last answer came
	GiveUpNS int64  `json:"give_up_ns"`
	Error    string `json:"error,omitempty"`
}

func (e *Logging) judge() (Verdict, string) {
	log := "unread"
	if e.Drained {
		log = "read"
	}
	e.Summary = fmt.Sprintf("%d of %d requests answered, %s logged, log %s",
		e.Answered, e.Asked, Size(e.Logged), log)
	switch {
	case e.Answered == e.Asked:
		return Sound, advise("stderr-undrained, " + log)
	case e.Error != "":
		return Noticed, advise("stderr-undrained, " + log)
	}
	return Stuck, advise("stderr-undrained, stuck", e.Answered, e.Logged)
}

func runStderrUndrained(ctx context.Context, r *recorder) error {
	for _, row := range []struct {
		part     string
		logBytes int
		drained  bool
	}{
		{"logs-0", 0, false},
		{"logs-4096", 4 << 10, false},
		{"logs-65537", 64<<10 + 1, false},
		{"logs-65537-drained", 64<<10 + 1, true},
	} {
		err := r.try(row.part, func() (finding, error) {
			return askLogger(ctx, row.logBytes, row.drained)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxRequests are more than a pipe's worth of logs at 4 KiB each.
const maxRequests = 64

// askLogger asks a server until an answer fails to come.
func askLogger(ctx context.Context, logBytes int, drained bool) (*Logging, error) {
	p, err := proc.Self("faults/logger", logBytes)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	log, err := p.Pipe(2)
	if err != nil {
		return nil, err
	}
	c, err := StartConversation(ctx, p)
	if err != nil {
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if drained {
			io.Copy(io.Discard, log)
		}
	}()
	defer func() {
		c.Close()
		<-read
	}()
	// A server that starts slowly is not stuck.
	isReady := func(line string) bool { return line == ready }
	if err := c.Await(ctx, startTime, isReady); err != nil {
		return nil, err
	}
	e := &Logging{LogBytes: logBytes, Drained: drained, GiveUpNS: giveUp.Nanoseconds()}
	e.ask(ctx, c)
	return e, nil
}

// ask sends requests until an answer fails to come, and counts.
func (e *Logging) ask(ctx context.Context, c *Conversation) {
	anyLine := func(string) bool { return true }
	for range maxRequests {
		e.Asked++
		err := c.Say("ask\n")
		if err == nil {
			err = c.Await(ctx, giveUp, anyLine)
		}
		if errors.Is(err, ErrLate) {
			return
		}
		if err != nil {
			e.Error = err.Error()
			return
		}
		e.Answered++
		e.Logged += int64(e.LogBytes)
	}
}

// logAndAnswer answers each line of standard input, and logs before it does.
func logAndAnswer(_ *proc.Work, logBytes int) error {
	log := make([]byte, logBytes)
	if _, err := fmt.Println(ready); err != nil {
		return err
	}
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

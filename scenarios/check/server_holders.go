package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// looksForHolders calls the server, and looks whether a process that it started since holds one of
// its streams. Those that ran before may be a wrapper and the server behind it.
func looksForHolders(ctx context.Context, c *serverCase) error {
	before, err := c.holders(nil)
	if err != nil {
		return err
	}
	err = c.meet(ctx, c.protocol.Smallest(target.Tool))
	if err != nil || c.Found != "" {
		return err
	}
	// A process that is just being started has the streams of who starts it for a moment.
	until := time.Now().Add(c.o.Patience)
	for {
		held, err := c.holders(before)
		if err != nil {
			return err
		}
		if len(held) == 0 {
			c.ok("no process that a call started holds its streams")
			return nil
		}
		if time.Now().After(until) {
			return c.namesHolders(held)
		}
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// namesHolders says which processes hold which stream.
func (c *serverCase) namesHolders(held []holder) error {
	var texts []string
	for _, h := range held[:min(len(held), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%d (%s) holds its standard %s", h.pid, h.name, h.stream))
	}
	c.fails("%s after a call: %s", c.o.Patience, strings.Join(texts, ", "))
	return nil
}

// A holder is a process that has a stream of the server open.
type holder struct {
	pid    int
	name   string
	stream string
}

// holders lists what the server started, and what that started, that holds the server's standard
// input or output, without the processes that are known.
func (c *serverCase) holders(known []holder) ([]holder, error) {
	server := c.server.Process.Cmd.Process.Pid
	streams := map[string]string{}
	for fd, name := range []string{"input", "output"} {
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", server, fd))
		if err != nil {
			return nil, errors.New("this system does not tell what a process has open")
		}
		streams[file] = name
	}
	var all []holder
	for _, pid := range proc.Tree(server) {
		isKnown := slices.ContainsFunc(known, func(h holder) bool { return h.pid == pid })
		if pid == server || isKnown {
			continue
		}
		files, _ := openFiles(pid) // a process that has ended holds nothing
		for _, file := range files {
			if streams[file] != "" {
				all = append(all, holder{pid, processName(pid), streams[file]})
			}
		}
	}
	return all, nil
}

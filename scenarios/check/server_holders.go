package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// looksForHolders calls a tool of the server, and looks for new processes that have the server's
// standard input or output open.
func looksForHolders(ctx context.Context, c *serverCase) error {
	server := c.server.Process.Cmd.Process.Pid
	open := proc.OpenFiles(server) // the names of the open files, by descriptor
	input := open[0]
	output := open[1]
	if input == "" || output == "" {
		return errors.New("this system does not tell what a process has open")
	}
	before := proc.Tree(server) // one of these may be the server itself, started by a wrapper
	err := c.roundTrip(ctx, c.protocol.Smallest(target.Tool))
	if err != nil || c.Found != "" {
		return err
	}
	// A process that is just being started holds its parent's streams open, but only for a moment.
	until := time.Now().Add(c.target.Patience)
	for {
		started := slices.DeleteFunc(proc.Tree(server), func(pid int) bool {
			return pid == server || slices.Contains(before, pid)
		})
		held := holdersOf(started, input, output)
		if len(held) == 0 {
			c.ok("no process that a call started holds its streams")
			return nil
		}
		if time.Now().After(until) {
			c.failsByHolders(held, input)
			return nil
		}
		if child.Within(ctx.Done(), tick) {
			return context.Cause(ctx)
		}
	}
}

// A holder is a process that has a file open.
type holder struct {
	pid  int
	name string // of the process
	file string
}

// holdersOf returns which of the processes have which of the files open. It returns nothing if the
// system does not show that.
func holdersOf(pids []int, files ...string) []holder {
	var all []holder
	for _, pid := range pids {
		open := slices.Collect(maps.Values(proc.OpenFiles(pid)))
		for _, file := range files {
			if slices.Contains(open, file) {
				all = append(all, holder{pid: pid, name: proc.Name(pid), file: file})
			}
		}
	}
	return all
}

// failsByHolders sets the verdict "fails", and names some processes that hold the server's streams.
// The parameter input is the name of the file that is the server's input.
func (c *serverCase) failsByHolders(held []holder, input string) {
	var texts []string
	for _, h := range held[:min(len(held), mostNamed)] {
		stream := "output"
		if h.file == input {
			stream = "input"
		}
		texts = append(texts, fmt.Sprintf("%d (%s) holds its standard %s", h.pid, h.name, stream))
	}
	c.fails("%s after a call: %s", c.target.Patience, strings.Join(texts, ", "))
}

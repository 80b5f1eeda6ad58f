package check

import (
	"context"
	"errors"
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
	if open[0] == "" || open[1] == "" {
		return errors.New("this system does not tell what a process has open")
	}
	before := proc.Tree(server) // one of these may be the server itself, started by a wrapper
	err := c.roundTrip(ctx, c.protocol.Smallest(target.Tool))
	if err != nil || c.Found != "" {
		return err
	}
	// A process that is just being started holds its parent's streams open, but only for a moment.
	until := time.Now().Add(c.target.Patience)
	for time.Now().Before(until) {
		if len(startedHolders(server, before, open[0], open[1])) == 0 {
			c.ok("no process that a call started holds its streams")
			return nil
		}
		if child.Within(ctx.Done(), tick) {
			return context.Cause(ctx)
		}
	}
	for descriptor, stream := range []string{"standard input", "standard output"} {
		held := startedHolders(server, before, open[descriptor])
		if len(held) > 0 {
			c.fails("%s after a call: %s holds its %s", c.target.Patience,
				strings.Join(held[:min(len(held), mostNamed)], ", "), stream)
		}
	}
	return nil
}

// startedHolders returns the names of processes that the server has started, apart from those of
// earlier, and that have one of the files open.
func startedHolders(server int, earlier []int, files ...string) []string {
	started := slices.DeleteFunc(proc.Tree(server), func(pid int) bool {
		return pid == server || slices.Contains(earlier, pid)
	})
	return holdersOf(started, files...)
}

// holdersOf returns the names of the processes that have one of the files open. It returns nothing
// if the system does not show that.
func holdersOf(pids []int, files ...string) []string {
	var names []string
	for _, pid := range pids {
		open := slices.Collect(maps.Values(proc.OpenFiles(pid)))
		holds := func(file string) bool { return slices.Contains(open, file) }
		if slices.ContainsFunc(files, holds) {
			names = append(names, proc.Name(pid))
		}
	}
	return names
}

package yardstick

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// A Peer is another benchmark of pipes, as it is installed on this machine, and
// the cell that does the same work.
type Peer struct {
	Name    string // of the shape that run has for it
	Command []string
	Cell    results.Cell // without its placement
	Metric  string       // of the cell, that the peer prints
	Scale   float64      // from the metric's unit to the peer's

	figure *regexp.Regexp // the peer's own, in what it prints
}

// Trips is how many round trips, or messages, of a peer's cell make a sample
// that is as long as the peer's own.
const Trips = 50_000

// Peers are those that most figures of pipes come from. Two are of lmbench,
// which few distributions package: build it, and put bw_pipe and lat_pipe on the
// PATH. Perf is in linux-perf, or linux-tools.
func Peers() []Peer {
	cell := func(pattern string, size int) results.Cell {
		c := results.Cell{Framing: "raw", Size: size, Pipe: "anonymous", IO: "blocking", Peer: "process", Pattern: pattern, Payload: "json"}
		if pattern == "stream" {
			c.ReadBuffer = size // it reads a message at once
		} else {
			c.Clock = "sample" // it reads the clock before the first trip and after the last
		}
		return c
	}
	return []Peer{
		{"lmbench-bw", []string{"bw_pipe", "-W", "1", "-N", "3"}, cell("stream", 64<<10), "goodput", 1e-6, regexp.MustCompile(`Pipe bandwidth: ([0-9.]+) MB/sec`)},
		{"lmbench-lat", []string{"lat_pipe", "-W", "1", "-N", "3"}, cell("roundtrip", 1), "time", 1e-3, regexp.MustCompile(`Pipe latency: ([0-9.]+) microseconds`)},
		{"perf-sched-pipe", []string{"perf", "bench", "sched", "pipe", "-l", strconv.Itoa(Trips)}, cell("roundtrip", 4), "time", 1e-3, regexp.MustCompile(`([0-9.]+) usecs/op`)},
	}
}

// Installed is nil where the peer is on the PATH, else [errors.ErrUnsupported].
func (p Peer) Installed() error {
	if _, err := exec.LookPath(p.Command[0]); err != nil {
		return fmt.Errorf("yardstick: %s is not on the PATH: %w", p.Command[0], errors.ErrUnsupported)
	}
	return nil
}

// Run runs the peer with all of it on one CPU, and returns its figure in its
// unit.
func (p Peer) Run(ctx context.Context, cpu int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	together(cmd)
	out, err := bound(cmd, cpu)
	if err != nil {
		return 0, fmt.Errorf("yardstick %s: %w: %s", strings.Join(p.Command, " "), err, out)
	}
	m := p.figure.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("yardstick %s: no figure in %q", strings.Join(p.Command, " "), out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// bound starts a program from a thread that is bound to the CPU, which the
// program inherits. The thread ends with its goroutine, so that nothing else
// does.
func bound(cmd *exec.Cmd, cpu int) (out []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = placement.PinThread(cpu); err == nil {
			out, err = cmd.CombinedOutput()
		}
	}()
	<-done
	return out, err
}

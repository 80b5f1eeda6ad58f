// Package yardstick runs the same work in C: what a pipe gives to a program
// that has nothing between it and the system calls. The engine's raw cells are
// held against it.
//
//	c, err := yardstick.Build(ctx, dir)
//	seconds, err := c.Stream(ctx, yardstick.Work{Size: 65536, Capacity: 65536, Count: 10_000, WriterCPU: 0, ReaderCPU: 0})
//
// It needs a C compiler, named by CC or cc, and Linux. The comparison itself,
// pair by pair, is a benchmark:
//
//	go test -run '^$' -bench AgainstC ./bench/yardstick
//
// So is the one with other benchmarks of pipes ([Peers]), as far as they are
// installed:
//
//	go test -run '^$' -bench AgainstPeers ./bench/yardstick
//
// A Program may be used concurrently, though the figures would disturb each
// other.
package yardstick

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

//go:embed c/pipe_ref.c
var source []byte

// A Program is the compiled yardstick.
type Program struct{ path string }

// Work is what the program is to do.
type Work struct {
	Size      int // of a message, in bytes
	Capacity  int // of the pipe, in bytes
	Count     int64
	WriterCPU int // -1 leaves it to the scheduler
	ReaderCPU int
	Threads   bool // both ends in one process; streams alone
}

// Build compiles the yardstick into dir. Without a C compiler, or on a system
// that the program is not written for, the error is [errors.ErrUnsupported].
func Build(ctx context.Context, dir string) (*Program, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("yardstick: %w on %s", errors.ErrUnsupported, runtime.GOOS)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return nil, fmt.Errorf("yardstick: no C compiler (set CC): %w: %w", errors.ErrUnsupported, err)
	}
	code, program := filepath.Join(dir, "pipe_ref.c"), filepath.Join(dir, "pipe_ref")
	if err := os.WriteFile(code, source, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, compiler, "-O2", "-pthread", "-o", program, code).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("yardstick: %s: %w: %s", compiler, err, out)
	}
	return &Program{program}, nil
}

// Stream sends Count messages one way, and returns the seconds it took.
func (p *Program) Stream(ctx context.Context, w Work) (seconds float64, err error) {
	args := append(w.args("stream"), "-t", strconv.FormatInt(w.Count*int64(w.Size), 10))
	if w.Threads {
		args = append(args, "-T")
	}
	return p.run(ctx, "seconds", args)
}

// Roundtrip sends Count messages there and back between two processes, and
// returns the median microseconds of a trip.
func (p *Program) Roundtrip(ctx context.Context, w Work) (us float64, err error) {
	return p.run(ctx, "p50_us", append(w.args("roundtrip"), "-n", strconv.FormatInt(w.Count, 10)))
}

func (w Work) args(what string) []string {
	return []string{
		what, "-s", strconv.Itoa(w.Size), "-c", strconv.Itoa(w.Capacity),
		"-w", strconv.Itoa(w.WriterCPU), "-r", strconv.Itoa(w.ReaderCPU),
	}
}

// patience is how long the program may take: when one of its ends dies, the
// other waits for ever.
const patience = time.Minute

// run starts the program and takes one figure from its line of key=value.
func (p *Program) run(ctx context.Context, figure string, args []string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, args...)
	together(cmd)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("yardstick %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	for _, field := range strings.Fields(string(out)) {
		if key, value, _ := strings.Cut(field, "="); key == figure {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("yardstick %s: no %s in %q", strings.Join(args, " "), figure, out)
}

package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
)

// A ReaderCost is the CPU time, user and system, that a program spends on each byte that it reads,
// in ns.
type ReaderCost float64

// The measured program gets as much input as it reads in readerTime, but at most readerBytes, or
// two messages if these are longer. After that, it has to end within readerEnds.
const (
	readerTime  = 2 * time.Second
	readerBytes = 256 << 20
	readerEnds  = 10 * time.Second
)

// MeasureReader measures how much CPU time a command spends on each byte that it reads. It runs the
// command twice: with a single line of size bytes of JSON, and with many.
func MeasureReader(ctx context.Context, size int, name string, args ...string) (ReaderCost, error) {
	source, err := payload.Generate("json", size, 1)
	if err != nil {
		return 0, err
	}
	oneCPU, oneBytes, err := feed(ctx, source, 1, name, args)
	if err != nil {
		return 0, err
	}
	many := max(2, int64(readerBytes/size))
	cpu, bytes, err := feed(ctx, source, many, name, args)
	if err != nil {
		return 0, err
	}
	if bytes < 2*int64(size) {
		return 0, fmt.Errorf("%s took %d bytes of its input: it has to read all of it",
			name, bytes)
	}
	perByte := float64((cpu - oneCPU).Nanoseconds()) / float64(bytes-oneBytes)
	return ReaderCost(max(0, perByte)), nil
}

// feed runs the command with up to n messages on its standard input. The result taken is how many
// bytes the pipe took.
func feed(ctx context.Context, source *payload.Source, n int64, name string, args []string) (
	cpu time.Duration, taken int64, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, readerTime+readerEnds)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	taken = writeLines(in, source, n)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return 0, 0, fmt.Errorf("%s did not end within %s of its input: %w",
			name, readerEnds, ctx.Err())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, 0, err
	}
	// A reader that took a message may exit with any code, as grep does.
	if exit != nil && taken < int64(len(source.Message(0))) {
		return 0, 0, fmt.Errorf("%s failed: %w", name, exit)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), taken, nil
}

// writeLines writes up to n messages, until the reader leaves or readerTime is over. It returns how
// many bytes the pipe took.
func writeLines(in io.WriteCloser, source *payload.Source, n int64) (taken int64) {
	defer in.Close()
	until := time.Now().Add(readerTime)
	for i := range n {
		line := append(source.Message(i), '\n')
		wrote, err := in.Write(line)
		taken += int64(wrote)
		if err != nil || time.Now().After(until) {
			break
		}
	}
	return taken
}

package turns

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// NewFilter returns a Starter of a command that reads the file input, or nothing if input is "".
// The command's output goes to a file in folder.
func NewFilter(argv []string, input, folder string) Starter {
	f := filter{name: strings.Join(argv, " "), argv: argv, input: input, folder: folder}
	return f.start
}

// A filter is a command that reads from a file and prints.
type filter struct {
	name          string // in errors
	argv          []string
	input, folder string
}

func (f filter) start(ctx context.Context) (Start, error) {
	p := proc.Command(f.argv[0], f.argv[1:]...)
	defer p.Close()
	if f.input != "" {
		in, err := os.Open(f.input)
		if err != nil {
			return Start{}, err
		}
		defer in.Close()
		p.Cmd.Stdin = in
	}
	// Not /dev/null: a command might then skip its work.
	out, err := os.CreateTemp(f.folder, "output-")
	if err != nil {
		return Start{}, fmt.Errorf("a file for the output: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	p.Cmd.Stdout = out
	began := time.Now()
	err = p.Start(ctx)
	if err != nil && ctx.Err() != nil {
		return Start{}, fmt.Errorf("%s: %w", f.name, context.Cause(ctx))
	}
	if err != nil {
		return Start{}, err
	}
	waitErr := p.Wait()
	s := Start{Wall: float64(time.Since(began)), Exit: p.ExitCode()}
	if ctx.Err() != nil {
		return s, fmt.Errorf("%s: %w", f.name, context.Cause(ctx))
	}
	if _, signal, killed := proc.Signaled(p.Cmd.ProcessState); killed {
		return s, fmt.Errorf("%s was ended by %s: %w", f.name, signal, waitErr)
	}
	if s.Exit != 0 {
		s.Said = lastWords(p.Stderr().String())
	}
	if cpu, ok := p.CPU(); ok {
		s.CPU = float64(cpu)
	}
	s.Counts, s.Counted = p.Counts()
	printed, hash, err := digest(out)
	s.Idle = printed == 0 && s.Counts.WrittenBytes == 0 && isUnread(p.Cmd.Stdin)
	s.Output = hash
	return s, err
}

// isUnread reports whether the input of a child is a regular file of which it has read nothing.
func isUnread(input io.Reader) bool {
	f, _ := input.(*os.File) // nil without an input; then Stat fails
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	// The child shares its position in the file with this process.
	at, err := f.Seek(0, io.SeekCurrent)
	return err == nil && at == 0
}

// digest returns the length and a hash of the content of a file.
func digest(f *os.File) (length int64, output string, err error) {
	h := sha256.New()
	length, err = io.Copy(h, io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return 0, "", fmt.Errorf("read the output: %w", err)
	}
	return length, fmt.Sprintf("%d %x", length, h.Sum(nil)), nil
}

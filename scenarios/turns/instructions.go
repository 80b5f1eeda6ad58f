package turns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// CountInstructions makes Run also count, under valgrind, the instructions that both commands
// execute. Such counts do not depend on how busy the machine is. It is an error if valgrind is not
// installed.
func (p *Programs) CountInstructions(old, new []string, input, folder string) error {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return err
	}
	p.oldInstructions = underValgrind(valgrind, old, input, folder)
	p.newInstructions = underValgrind(valgrind, new, input, folder)
	return nil
}

// errValgrind says that valgrind could not count, which is no failure of the command.
var errValgrind = errors.New("leave out --instructions")

func underValgrind(valgrind string, argv []string, input, folder string) Starter {
	name := strings.Join(argv, " ") + ", under valgrind"
	return func(ctx context.Context) (Start, error) {
		files, err := os.MkdirTemp(folder, "instructions-")
		if err != nil {
			return Start{}, fmt.Errorf("a folder for what valgrind counts: %w", err)
		}
		defer os.RemoveAll(files)
		log := filepath.Join(files, "log")
		under := []string{
			valgrind, "--quiet", "--sigill-diagnostics=yes",
			"--tool=cachegrind", "--cache-sim=no", "--trace-children=yes",
			"--log-file=" + log, "--cachegrind-out-file=" + filepath.Join(files, "count-%p"),
		}
		f := filter{name: name, argv: append(under, argv...), input: input, folder: folder}
		start, err := f.start(ctx)
		said, _ := os.ReadFile(log) // there is none if valgrind has not begun
		if strings.Contains(string(said), "Unrecognised instruction") {
			return Start{}, fmt.Errorf("valgrind cannot run %s here (%s): %w",
				strings.Join(argv, " "), firstLine(string(said)), errValgrind)
		}
		if err != nil {
			return Start{}, err
		}
		counted, err := countedInstructions(files)
		if err != nil {
			return Start{}, fmt.Errorf("%s: %w", name, err)
		}
		if counted == 0 {
			return Start{}, fmt.Errorf("%s: it counted nothing (%s): %w", name,
				bytes.TrimSpace(said), errValgrind)
		}
		return Start{Instructions: counted, Exit: start.Exit, Output: start.Output}, nil
	}
}

// countedInstructions sums up the instructions of all processes, from valgrind's files. Each file
// has a line such as "summary: 123".
func countedInstructions(folder string) (int64, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "count-*"))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			count, isSummary := strings.CutPrefix(strings.TrimSpace(line), "summary: ")
			if !isSummary {
				continue
			}
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("a count of valgrind: %w", err)
			}
			sum += n
		}
	}
	return sum, nil
}

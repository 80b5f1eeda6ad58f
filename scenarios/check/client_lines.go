package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// Protocols lists the protocols whose clients can be checked: "mcp" for MCP, and "lines" for any
// JSON in lines.
func Protocols() []string { return []string{"mcp", "lines"} }

// lineShapes has what our test server writes to a client that reads lines, by the name of the test.
// The number of messages is always the same.
var lineShapes = map[string]func() []byte{
	"line-64KiB":      func() []byte { return linesOf(64<<10, "\n") },
	"line-1MiB":       func() []byte { return linesOf(1<<20, "\n") },
	"no-last-newline": func() []byte { return bytes.TrimSuffix(plainLines(), []byte("\n")) },
	"blank-lines":     func() []byte { return linesOf(0, "\n\n  \n") },
	"crlf":            func() []byte { return linesOf(0, "\r\n") },
}

func plainLines() []byte { return linesOf(0, "\n") }

// linesOf returns ten lines of JSON with the given line ending. One of the lines is longer than the
// others by the given number of extra bytes.
func linesOf(extra int, ending string) []byte {
	var b bytes.Buffer
	for i := range 10 {
		text := fmt.Sprintf("line %d", i)
		if i == 5 {
			text += strings.Repeat("x", extra)
		}
		fmt.Fprintf(&b, `{"n":%d,"text":"%s"}%s`, i, text, ending)
	}
	return b.Bytes()
}

// linesServer stores the lines in a file in dir, and returns a command that writes them.
func linesServer(dir string, lines []byte) ([]string, error) {
	path := filepath.Join(dir, "lines.json")
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", "type", path}, os.WriteFile(path, lines, 0o600)
	}
	return []string{"cat", path}, os.WriteFile(path, lines, 0o600)
}

// lineSituations returns the tests of a client that reads lines, by name.
func (c *clientCheck) lineSituations() map[string]situation {
	tries := map[string]situation{}
	for name, shape := range lineShapes {
		tries[name] = func(ctx context.Context, f *finding) error {
			f.options.lines = shape()
			v, err := f.visit(ctx)
			if err != nil {
				return err
			}
			if err := c.judgeVisit(ctx, f, v, catalogue.CarryOn); err != nil {
				return err
			}
			printed := v.printedLines()
			plain := c.good.printedLines()
			if v.ended && c.good.ended && printed < plain && c.alike {
				f.fails("ends with code %d, and prints %d lines where it prints %d for plain lines",
					v.code, printed, plain)
			}
			return nil
		}
	}
	return tries
}

// printedLines counts the lines that the client printed, without blank lines before or after them.
func (v *visit) printedLines() int {
	text := strings.TrimSpace(v.out)
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

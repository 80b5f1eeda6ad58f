//go:build unix

package check_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/check"
)

// lineClient is the first argument of the test binary where it is a client that reads lines, wrong
// in the way of its second.
const lineClient = "check-test-lines"

func init() {
	if len(os.Args) < 4 || os.Args[1] != lineClient {
		return
	}
	if err := readLines(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// readLines starts a server and prints a number for each line that it writes.
func readLines(wrong string, server []string) error {
	cmd := exec.Command(server[0], server[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	if wrong == "scanner" {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if err := printNumber(lines.Bytes()); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		ended := errors.Is(err, io.EOF)
		blank := len(bytes.TrimSpace(line)) == 0
		switch {
		case ended && (blank || wrong == "cut"):
			return nil
		case wrong == "ends" && !bytes.HasSuffix(line, []byte("}\n")) && !blank && !ended:
			return fmt.Errorf("the line ends with %q", line[len(line)-2:])
		case blank && wrong != "blank":
			continue
		}
		if err := printNumber(line); err != nil {
			return err
		}
	}
}

func printNumber(line []byte) error {
	var m struct{ N int }
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	fmt.Println(m.N)
	return nil
}

// Each client of lines is wrong in one way, which is named; the first in none.
func TestClientsOfLinesThatAreWrongInOneWay(t *testing.T) {
	t.Parallel()
	for wrong, want := range map[string]map[string]string{
		"none": {},
		"scanner": {"line-64KiB": "token too long", "line-1MiB": "is still there",
			"blank-lines": "unexpected end of JSON"},
		"cut":   {"no-last-newline": "prints 9 lines where it prints 10"},
		"blank": {"blank-lines": "unexpected end of JSON"},
		"ends":  {"crlf": "the line ends with"},
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			o := check.Options{Run: "r", Protocol: "lines",
				Command: []string{self(t), lineClient, wrong, "{}"}}
			tried := 0
			err := check.Client(t.Context(), o, func(l results.Line) error {
				f := l.(results.Finding)
				tried++
				text, fails := want[strings.TrimPrefix(f.ID, "check/client/")]
				wrong := f.Verdict == results.Fails || f.Verdict == results.Slow
				mild := strings.HasSuffix(f.ID, "blank-lines") ||
					strings.HasSuffix(f.ID, "no-last-newline")
				if fails != wrong || mild && f.Verdict == results.Fails ||
					!strings.Contains(f.Found, text) {
					t.Errorf("%s: %s: %s; want %q", f.ID, f.Verdict, f.Found, text)
				}
				return f.Validate()
			})
			if err != nil || tried != 5 {
				t.Errorf("%d situations: %v", tried, err)
			}
		})
	}
}

// A client that cannot read plain lines is judged by nothing else.
func TestAClientThatReadsNoLinesIsNotJudged(t *testing.T) {
	o := check.Options{Run: "r", Protocol: "lines", Command: []string{"sh", "-c", "exit 3", "{}"}}
	found := clientFindings(t, o)
	if len(found) != 1 || found[0].Verdict != results.CannotTell {
		t.Errorf("found %+v", found)
	}
}

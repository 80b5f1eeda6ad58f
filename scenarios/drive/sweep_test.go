package drive_test

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestOpenFindsOutWhatAServerSpeaks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ job, protocol, request string }{
		{"mcp", "mcp", "tool echo, answers checked byte by byte"},
		{"cat", "lines", "lines, answers checked byte by byte"},
		{"upper", "lines (answers with others)", "lines"},
		{"json", "lines", "lines, answers checked byte by byte"},
		{"selective", "mcp 2025-11-25", "method tools/list, as it ignores unknown methods; " +
			"large replies are not tried: no tool echoes (see --reply-tool)"},
		{"hesitant mcp", "mcp 2025-11-25", "method pipebench/unknown, which it refuses; " +
			"large replies are not tried: no tool echoes (see --reply-tool)"},
		{"rows", "mcp 2025-11-25", "method pipebench/unknown, which it refuses; " +
			"large replies are not tried: --tool echo_note may echo, --reply-tool report may " +
			"make some"},
		{"joins", "mcp 2025-11-25", "tool echo, answers checked byte by byte"},
		{"listless", "mcp 2025-11-25", "method pipebench/unknown, which it refuses; " +
			"large replies are not tried: tools/list failed: the server refuses: no (code -32601)"},
		{"obliging", "jsonrpc", "method pipebench/unknown"},
		{"tardy", "mcp 2025-11-25", "tool echo, answers checked byte by byte"},
		{"hesitant cat", "lines", "lines, answers checked byte by byte"},
		{"hesitant upper", "lines (answers with others)", "lines"},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			d := begin(t, server(row.job))
			if !strings.HasPrefix(d.Protocol(), row.protocol) || d.Request() != row.request {
				t.Errorf("found %s, %s; want %s, %s", d.Protocol(), d.Request(), row.protocol,
					row.request)
			}
		})
	}
}

func TestOpenSaysWhyACommandCannotBeSpokenTo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job, protocol string
		verdict       target.Verdict
		says          string
	}{
		{"endless 0", "", target.Endless, "no message end within 1,048,576 B"},
		{"exit", "", "exit 0", ""},
		{"exit abc", "", "exit 3", ""},
		{"banner", "", target.Corrupt, "what it writes is no answer"},
		{"silent", "", target.Deaf, "a JSON-RPC request in ndjson: no answer in time"},
		{"buffered", "", target.Buffered, ""},
		{"buffered", "lines", target.Buffered, ""},
		{"mislength 2 always", "", target.WrongLength, "after initialize, a message came " +
			"that announces 55 B and has 53: its Content-Length is wrong"},
		{"mislength -1 always", "lsp", target.WrongLength,
			"a message came that announces 52 B and goes on behind them"},
		// and ends at headers
		{"json buffered", "", target.Buffered, "in ndjson: no answer in time"},
		{"cat", "jsonrpc", target.Corrupt, "it sends back what it is sent"},
		{"cat", "mcp", target.Corrupt, "it sends back what it is sent"},
	} {
		t.Run(row.job+" "+row.protocol, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.Protocol, o.Start, o.MaxReply = row.protocol, 20*time.Second, 1<<20
			switch {
			case row.verdict == target.Endless:
				// is known as soon as it is too long, in whatever framing
				o.Start = time.Hour
			case row.verdict == target.Deaf || row.verdict == target.Buffered:
				o.Start = time.Second // in which nothing is to come
			case row.job == "banner" || row.job == "mislength 2 always":
				o.Start = 2 * time.Second // in which not all comes that is waited for
			}
			_, err := drive.Open(t.Context(), o)
			var refused *drive.HandshakeError
			if !errors.As(err, &refused) || refused.Verdict != row.verdict ||
				!strings.Contains(refused.Why, row.says) {
				t.Fatalf("got %v, want an HandshakeError of %s", err, row.verdict)
			}
			if row.verdict != target.Deaf {
				return
			}
			if !strings.Contains(refused.Why, "as an editor does, in content-length") ||
				!strings.Contains(refused.Advice(), "--protocol") {
				t.Errorf("tried %q, advises %q", refused.Why, refused.Advice())
			}
		})
	}
}

// A line on standard output is no answer, however long the first answer takes then.
func TestAServerThatGreetsMayBeSlowToStart(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"early", "late"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			o := server("hello " + when)
			o.Start = 20 * time.Second
			d, err := drive.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if d.Protocol() != "jsonrpc" {
				t.Errorf("speaks %s", d.Protocol())
			}
		})
	}
}

// A program that wrote anything, to whatever stream, has not ended silently.
func TestOnlyAProgramThatWroteNothingEndedSilently(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		job    string
		silent bool
	}{{"exit", true}, {"babble errors", false}, {"babble", false}} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.Protocol = "mcp"
			_, err := drive.Open(t.Context(), o)
			if err == nil || strings.Contains(err.Error(), "silently") != row.silent {
				t.Errorf("says %v", err)
			}
		})
	}
}

func TestAServerThatComputesGetsMoreTimeToBegin(t *testing.T) {
	leakCheck(t)
	if !proc.TellsOfOthers && runtime.GOOS != "windows" {
		t.Skip("this system does not tell of the processor time of others")
	}
	o := server("loads 1500ms")
	o.Start = time.Second
	d, err := drive.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestOpenOfNoCommandIsAStartError(t *testing.T) {
	leakCheck(t)
	_, err := drive.Open(t.Context(), drive.Options{Command: []string{"pipebench-no-such-command"}})
	var start *drive.StartError
	if !errors.As(err, &start) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want a StartError that says it was not found", err)
	}
}

func TestSweepKeepsARecordOfEachSize(t *testing.T) {
	leakCheck(t)
	for _, job := range []string{"mcp", "cat", "upper", "selective"} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			d := begin(t, server(job))
			var kept []int64
			sweep, err := d.Sweep(t.Context(), drive.Doubling(1<<10, 32<<10),
				func(l results.Line) error {
					kept = append(kept, l.(results.Target).Size)
					return nil
				})
			if err != nil {
				t.Fatal(err)
			}
			if want := []int64{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10,
				32 << 10}; !slices.Equal(kept, want) {
				t.Errorf("kept %v", kept)
			}
			if n := sweep.Targets[0].Evidence.Size.WarmupMessages; n < 1 {
				t.Error("the server was not warmed up")
			}
			if len(failures(sweep)) > 0 {
				t.Errorf("failures: %+v", failures(sweep))
			}
			for _, r := range sweep.Targets {
				for _, s := range r.Samples {
					if s.Messages < 1 || s.ElapsedNS <= 0 ||
						s.WireBytes != s.Messages*(r.Size+1) || s.Writer.Bytes <= s.WireBytes {
						t.Errorf("size %d: %+v", r.Size, s)
					}
				}
			}
			if d.Starts() != 1 {
				t.Errorf("started %d times", d.Starts())
			}
		})
	}
}

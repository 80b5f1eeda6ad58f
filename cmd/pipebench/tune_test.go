package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/tune"
)

// Every knob that can be typed reaches the cell that is measured. One sample is too few for an
// answer, which the exit code says.
func TestTuneTakesEveryKnob(t *testing.T) {
	folder := t.TempDir()
	lines := filepath.Join(folder, "session.ndjson")
	if err := os.WriteFile(lines, []byte(strings.Repeat(`{"method":"a"}`+"\n"+`{"result":"`+strings.Repeat("x", 5000)+`"}`+"\n", 3)), 0o644); err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(folder, "tap.jsonl")
	if err := os.WriteFile(recording, []byte(tapRecording), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		args []string
		took func(results.Cell) bool
	}{
		{"the capacity", []string{"--capacity", "16KiB"}, func(c results.Cell) bool { return c.Capacity == 16<<10 }},
		{"one io for both ends", []string{"--io", "poller"}, func(c results.Cell) bool { return c.IO == "poller" }},
		{"an io for each end", []string{"--io", "blocking/poller"}, func(c results.Cell) bool { return c.IO == "blocking/poller" }},
		{"the placement", []string{"--placement", "same"}, func(c results.Cell) bool { return c.Placement == "same" }},
		{"the reader's rate", []string{"--drain", "50MB/s"}, func(c results.Cell) bool { return c.Drain == 50e6 }},
		{"the size of large messages", []string{"--size", "128KiB"}, func(c results.Cell) bool { return c.Size == 128<<10 }},
		{"the kind of pipe", []string{"--pipe", "fifo"}, func(c results.Cell) bool { return c.Pipe == "fifo" }},
		{"the rate of small messages", []string{"--rate", "900"}, func(c results.Cell) bool { return c.Rate == 900 }},
		{"the payload", []string{"--payload", "utf8"}, func(c results.Cell) bool { return c.Payload == "utf8" }},
		{"a file of messages", []string{"--messages", lines}, func(c results.Cell) bool { return c.Messages != "" && c.Size == 0 }},
		{"what tap recorded", []string{"--messages", recording}, func(c results.Cell) bool { return c.Messages != "" && c.Size == 0 }},
		{"the objective throughput", []string{"--objective", "throughput"}, func(results.Cell) bool { return true }},
		{"the objective latency", []string{"--objective", "latency"}, func(results.Cell) bool { return true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			args := slices.Concat([]string{"tune", "--chunk", "4KiB,64KiB", "--size", "64KiB", "--placement", "free", "--duration", "5ms", "--max-time", "1ms", "--no-levers", "-o", out}, row.args)
			cmd := command(t, commandEnv+"=1", args...)
			said, err := cmd.CombinedOutput()
			code := cmd.ProcessState.ExitCode()
			if code == exitFailed && bytes.Contains(said, []byte(errors.ErrUnsupported.Error())) {
				t.Skipf("%s", said)
			}
			if code != exitInconclusive {
				t.Fatalf("exit %d, %v:\n%s", code, err, said)
			}
			set, err := results.Read(filepath.Join(out, recordsFile))
			if err != nil || len(set.Tunes) != 1 {
				t.Fatalf("%v, %d records", err, len(set.Tunes))
			}
			if c := set.Tunes[0].Cell; !row.took(c) {
				t.Errorf("measured %s", c.Key())
			}
		})
	}
}

const tapRecording = `{"kind":"environment","schema":1,"run":"r","machine":"m","time":"2026-11-21T08:00:00Z","os":"linux","arch":"amd64","hostname":"lab","cpus":2,"seed":1}
{"kind":"message","run":"r","dir":"request","t_ns":1,"size":14,"body":"{\"method\":\"a\"}"}
{"kind":"message","run":"r","dir":"reply","t_ns":2,"size":12,"body":"{\"result\":1}"}
`

// Ctrl-C ends tune between any two samples and in the middle of one. No worker and no FIFO is left,
// and what was finished is in the file.
func TestAnInterruptedTuneLeavesNobody(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	for _, row := range []struct {
		name, after string
		duration    string // of a sample: one that has to be interrupted in the first takes longer than any delay of the signal
		signal      os.Signal
		code        int
		kept        bool
	}{
		{"before its first sample", "", "1m", os.Interrupt, exitInterrupted, false},
		{"while it samples", "sample 1", "20ms", os.Interrupt, exitInterrupted, true},
		{"by a kill", "sample 1", "20ms", os.Kill, -1, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, temporary := t.TempDir(), t.TempDir()
			set := interrupted(t, dir, interruption{row.after, row.signal, row.code}, []string{"TMPDIR=" + temporary},
				"tune", "--pipe", "fifo", "--chunk", "4KiB,64KiB", "--drain", "20MB/s", "--duration", row.duration, "--max-time", "1h", "-o", dir)
			if len(set.Environments) != 1 || len(set.Problems) != 0 || (len(set.Tunes) > 0) != row.kept {
				t.Errorf("the file: %d records, problems %v", len(set.Tunes), set.Problems)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 && row.signal != os.Kill {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// tuned are records of two sizes whose goodput is as far apart as given, and as noisy; the larger
// waits twice as long.
func tuned(t *testing.T, ratio, noise float64) *results.Set {
	t.Helper()
	set := &results.Set{Environments: []results.Environment{{Run: "test", Hostname: "lab", OS: "linux"}}}
	for i, chunk := range []int{4 << 10, 64 << 10} {
		for _, drain := range []int64{0, 200e6} {
			u := results.Tune{Run: "test", Cell: results.Cell{Framing: "chunked:" + strconv.Itoa(chunk), Placement: "apart", Drain: drain}}
			for n := range 8 {
				goodput := 1e9 * (1 + noise*float64(n%4)) * (1 + float64(i)*(ratio-1))
				due, err := results.NewLatency(slices.Repeat([]int64{400_000 * int64(i+1)}, 600))
				if err != nil {
					t.Fatal(err)
				}
				u.Samples = append(u.Samples, results.Sample{ElapsedNS: 1e9, PayloadBytes: int64(goodput), Latency: map[string]results.Latency{"due": due}})
			}
			set.Add(u)
		}
	}
	return set
}

// recommendedIn marks what the records decide for, as a run does.
func recommendedIn(set *results.Set, o tune.Objective) *results.Set {
	d := tune.Decide(set.Tunes, o)
	for i, u := range set.Tunes {
		set.Tunes[i].Recommended = !d.Inconclusive() && u.Cell.Framing == "chunked:"+strconv.Itoa(d.Best)
	}
	return set
}

// What a script hears: a size is recommended, or it is the same which; a gate holds, fails, or
// cannot be told; noise is no answer.
func TestTuneEndsAsItsAnswerIs(t *testing.T) {
	for _, row := range []struct {
		name   string
		set    *results.Set
		assert string
		code   int
		says   string
	}{
		{"a size is recommended", tuned(t, 1.5, 0.001), "", exitDone, "use 64 KiB on lab"},
		{"sizes that make no difference", tuned(t, 1.07, 0.001), "", exitDone, "the chunk size does not matter on lab"},
		{"noise", tuned(t, 1.5, 0.8), "", exitInconclusive, "noise hides the answer on lab"},
		{"an assertion that holds", tuned(t, 1.5, 0.001), "p99<1ms@drain=200000000", exitDone, ""},
		{"one that fails", tuned(t, 1.5, 0.001), "p99<700us@drain=200000000", exitGate, ""},
		{"one about goodput that fails for one reader alone", tuned(t, 1.5, 0.001), "goodput>2GB/s", exitGate, ""},
		{"one that the samples do not carry", tuned(t, 1.5, 0.001), "p99.9<1ms", exitInconclusive, ""},
		{"an assertion while noise hides the answer", tuned(t, 1.5, 0.8), "p99<1ms", exitInconclusive, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := recommendedIn(row.set, tune.Balanced)
			var asserts []stat.Assert
			if row.assert != "" {
				a, err := stat.ParseAssert(row.assert)
				if err != nil {
					t.Fatal(err)
				}
				asserts = append(asserts, a)
			}
			var said bytes.Buffer
			if err := tune.View(&said, view.FormatTable, set, tune.Balanced, view.Options{}); err != nil {
				t.Fatal(err)
			}
			if table := strings.Index(said.String(), "What chunk sizes cost"); !strings.Contains(said.String()[:table], row.says) {
				t.Errorf("%q is not said before the table:\n%s", row.says, said.String())
			}
			f := &tuneFlags{}
			cmd := newCommand("tune", f, nil, true)
			cmd.SetOut(&said)
			cmd.SetErr(&said)
			f.asserts = asserts
			err := f.judgeAnswer(cmd, set)
			if got := exitCode(t.Context(), err, &said); got != row.code || !strings.Contains(said.String(), row.says) {
				t.Errorf("exit %d, want %d, and %q:\n%s", got, row.code, row.says, said.String())
			}
		})
	}
}

package failures

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// endlessWork is the work of a process that is started to read an endless line.
const endlessWork = "failures/endless"

// Jobs is the work of the processes that [Failure.Show] starts: main gives it to [proc.Main].
func Jobs() map[string]proc.Job { return experiment.Jobs(endlessWork, endlessExperiments, nil) }

// lineLimit is the limit that the document of the printed reader sets, in bytes.
const lineLimit = 10 << 20

// An endlessLine has no newline, and a reader that allows lineLimit bytes of a line. The printed
// reader searches its whole buffer after each 4096 bytes, so its cost is quadratic: 12 MiB, a
// little beyond the limit, take seconds.
type endlessLine struct {
	part, framing string
	policy        framers.Policy
	bytes         int64
}

var endlessLines = []endlessLine{
	{"closes", "ndjson", framers.Close, 64 << 20},
	{"skips", "ndjson", framers.Resync, 256 << 20},
	{"as-printed", "ndjson-rescan", framers.Close, 12 << 20},
}

// endlessTime is how long an experiment may take.
const endlessTime = 2 * time.Minute

// endlessExperiments measure the memory of a process, so each has one of its own.
func endlessExperiments() []experiment.Experiment {
	var all []experiment.Experiment
	for _, l := range endlessLines {
		all = append(all, experiment.Experiment{ID: l.part, Limit: endlessTime, Do: l.try})
	}
	return all
}

func showEndlessLines(ctx context.Context, r *recorder) error {
	for _, e := range endlessExperiments() {
		r.step(e.ID)
		err := experiment.Run(ctx, endlessWork, e, func(f results.Finding) error {
			return r.record(e.ID, f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// try sends the line to the reader. It is sound if its error came while the line was still
// arriving, and its memory stayed within four times the limit: a buffer that doubles takes more
// than three, if nothing of it is collected meanwhile.
func (l endlessLine) try(t *experiment.Trial) {
	debug.SetGCPercent(100) // what a reader does with it is looked at
	f, err := framers.Parse(l.framing)
	if !t.Check(err) {
		return
	}
	r, w, err := os.Pipe()
	if !t.Check(err) {
		return
	}
	defer r.Close()
	part := []byte(strings.Repeat("x", 64<<10))
	in := &countingReader{r: r}
	next := f.NewReader(in, framers.WithMaxMessage(lineLimit), framers.WithPolicy(l.policy))
	before := memoryFromSystem()
	go func() {
		defer w.Close()
		for sent := int64(0); sent < l.bytes; sent += int64(len(part)) {
			if _, err := w.Write(part); err != nil {
				return // the reader has left
			}
		}
	}()
	_, refused := next.ReadMessage()
	read := in.n.Load()
	if l.policy == framers.Resync {
		_, err := next.ReadMessage() // skips the rest
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Check(fmt.Errorf("behind an endless line: %w", err))
		}
	}
	held := memoryFromSystem() - before
	found := results.Finding{
		Class: Grows, Value: held, Unit: "B",
		Found: fmt.Sprintf("%s held; it spoke after %s of %s",
			formatBytes(int(held)), formatBytes(int(read)), formatBytes(int(l.bytes))),
	}
	if refused != nil && read < l.bytes && held <= 4*lineLimit {
		found.Class = Sound
	}
	t.Found(found)
}

// memoryFromSystem returns how much memory this process has got from the system, in bytes.
func memoryFromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// A countingReader counts the bytes that were read.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

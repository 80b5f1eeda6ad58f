package failures

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
)

// lineLimit is the longest line that the readers accept, in bytes.
const lineLimit = 10 << 20

// timeLimit is the time limit of experiments with much data, which are slow under Go's race
// detector.
const timeLimit = 2 * time.Minute

// endlessLines are experiments with a line that has no end. The line of "as-printed" is short,
// because the reader there takes quadratic time.
var endlessLines = []experiment.Experiment{
	endlessLine("closes", 64<<20, openFraming(framers.NDJSON(), withLineLimit)),
	endlessLine("skips", 256<<20,
		openFraming(framers.NDJSON(), withLineLimit, framers.WithPolicy(framers.Resync))),
	endlessLine("as-printed", 12<<20, openFraming(framers.Rescan(), withLineLimit)),
	endlessLine("checks-late", 100<<20, openWhole),
}

var withLineLimit = framers.WithMaxMessage(lineLimit)

// openWhole opens a reader that checks the length of a line only after it has read the whole line.
func openWhole(r io.Reader) nextMessage {
	in := bufio.NewReader(r)
	return func() ([]byte, error) {
		line, err := in.ReadBytes('\n')
		if len(line) > lineLimit {
			return nil, errors.New("too large")
		}
		return line, err
	}
}

// An endlessReader is a stream without a newline and without an end.
type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// endlessLine returns the experiment that sends a line of up to size bytes to a reader. The reader
// passes if it refuses the line before its end, and if its memory stays within four times
// lineLimit.
func endlessLine(part string, size int64, open func(io.Reader) nextMessage) experiment.Experiment {
	send := func(t *experiment.Trial) {
		debug.SetGCPercent(100) // garbage collection is off in other experiments
		in := &io.LimitedReader{R: endlessReader{}, N: size}
		next := open(in)
		before := memory().Sys
		_, refused := next()
		read := size - in.N
		_, _ = next() // a reader that skips the line reads the rest of it here
		held := memory().Sys - before
		f := results.Finding{
			ID: part, Class: Grows, Value: held, Unit: "B",
			Found: fmt.Sprintf("%s held; it spoke after %s of %s",
				formatBytes(int(held)), formatBytes(int(read)), formatBytes(int(size))),
		}
		// A buffer that doubles takes more than three times lineLimit until its old copies are
		// collected.
		if refused != nil && read < size && held <= 4*lineLimit {
			f.Class = Sound
		}
		t.Found(f)
	}
	return experiment.Experiment{ID: part, Limit: timeLimit, Do: send}
}

// largeMessages are experiments in which a reader gets a large message in chunks, and then small
// messages.
var largeMessages = []experiment.Experiment{
	{ID: "4MiB", Do: func(t *experiment.Trial) { receiveLarge(t, "4MiB", 4<<20) }},
	{ID: "16MiB", Do: func(t *experiment.Trial) { receiveLarge(t, "16MiB", 16<<20) }},
	{ID: "64MiB", Limit: timeLimit,
		Do: func(t *experiment.Trial) { receiveLarge(t, "64MiB", 64<<20) }},
}

// receiveLarge measures how much memory a receiver takes for a large message, and how much it still
// holds directly after the message, and after some small messages.
func receiveLarge(t *experiment.Trial, part string, size int) {
	debug.SetGCPercent(100) // as in endlessLine
	f, err := framers.Chunked(60 << 10)
	if !t.Check(err) {
		return
	}
	sent := padded("large", size)
	r, w := io.Pipe()
	go func() { w.CloseWithError(sendWithSmall(f.NewWriter(w), sent)) }()
	in := f.NewReader(r, framers.WithMaxMessage(size))
	runtime.GC()
	before := memory()
	got, err := in.ReadMessage()
	t.Check(err)
	held := memory().Sys - before.Sys
	taken := results.Finding{ID: part, Class: Sound, Value: held, Unit: "B"}
	taken.Found = formatBytes(int(held)) + " taken for a message of " + formatBytes(size)
	switch {
	case !bytes.Equal(got, sent):
		taken.Class = Corrupted
	case held > 6*uint64(size):
		taken.Class = Grows
	}
	t.Found(taken)
	got = nil // so that it can be collected
	t.Found(keptOf(part+"/at-once", "when the message was delivered", size, before))
	for err == nil {
		_, err = in.ReadMessage()
	}
	t.Found(keptOf(part+"/later", "when 100 small messages had come", size, before))
	runtime.KeepAlive(in) // so that what the receiver still holds is counted
	runtime.KeepAlive(sent)
}

// sendWithSmall sends a large message and 100 small ones. It returns io.EOF, with which the caller
// closes the stream.
func sendWithSmall(out framers.Writer, large []byte) error {
	if err := out.WriteMessage(large); err != nil {
		return err
	}
	for range 100 {
		if err := out.WriteMessage([]byte("small")); err != nil {
			return err
		}
	}
	return io.EOF
}

// keptOf returns a finding about how much more of the heap is in use now than at an earlier time,
// "before".
func keptOf(part, when string, size int, before runtime.MemStats) results.Finding {
	runtime.GC()
	kept := max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
	f := results.Finding{ID: part, Class: Sound, Value: kept, Unit: "B",
		Found: formatBytes(int(kept)) + " kept " + when}
	if kept > int64(size/10) {
		f.Class = Grows
	}
	return f
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

func formatBytes(n int) string { return results.FormatLabel(float64(n), "B") }

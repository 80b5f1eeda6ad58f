package trials

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A memoryTrial receives a large message and measures the memory that this takes. The sender is
// another process.
type memoryTrial struct {
	name    string
	title   string
	framing string
	size    int // bytes of the message
	limit   int // of the receiver, in bytes; 0: the size
	small   int // messages of 200 B after it
	// whole has the receiver take a line whole before it looks at its length, as a program does
	// whose transport delivers frames.
	whole bool
}

const chunkFraming = "chunked:61440"

// memoryTrials are three sizes for how memory grows; a large message with small ones after it; and
// a message beyond a limit that is checked late, and early.
var memoryTrials = []memoryTrial{
	{name: "chunks-4MiB", title: "receive 4 MiB in chunks", framing: chunkFraming, size: 4 << 20},
	{name: "chunks-16MiB", title: "receive 16 MiB in chunks, then 100 small messages",
		framing: chunkFraming, size: 16 << 20, small: 100},
	{name: "chunks-64MiB", title: "receive 64 MiB in chunks", framing: chunkFraming,
		size: 64 << 20},
	{name: "limit-late", title: "a line of 100 MiB, whose length is checked when it is whole",
		framing: "ndjson", size: 100 << 20, limit: FrameLimit, whole: true},
	{name: "limit-early", title: "a line of 100 MiB, whose length is checked while it is read",
		framing: "ndjson", size: 100 << 20, limit: FrameLimit},
}

// Received is what a receiver took of a message, in bytes.
type Received struct {
	Size    int   `json:"size"`
	Limit   int   `json:"limit"`
	Intact  bool  `json:"intact"`
	Refused bool  `json:"refused"` // the receiver called it too large
	Read    int64 `json:"read"`    // from the pipe
	Held    int64 `json:"held"`    // memory that the process got from the system meanwhile
	AtOnce  int64 `json:"at_once"` // on its heap more than before, when the message was delivered
	Later   int64 `json:"later"`   // the same when the small messages had come
}

const senderWork = "trials/sender"

// A sendPlan is what a sender sends.
type sendPlan struct {
	Framing     string
	Size, Small int
}

// sendMessages is the sender.
func sendMessages(w *proc.Work) error {
	var plan sendPlan
	if err := w.Args(&plan); err != nil {
		return err
	}
	end := w.Ends[0]
	if err := end.UsePoller(); err != nil {
		return err
	}
	err := plan.send(end)
	if syspipe.ReaderLeft(err) {
		err = nil
	}
	return errors.Join(err, end.Close())
}

func (p sendPlan) send(w io.Writer) error {
	f, err := framers.Parse(p.Framing)
	if err != nil {
		return err
	}
	out := f.NewWriter(w)
	if err := out.WriteMessage(message(p.Size)); err != nil {
		return err
	}
	for range p.Small {
		if err := out.WriteMessage(message(200)); err != nil {
			return err
		}
	}
	return nil
}

// measure is the receiver.
func (m memoryTrial) measure(t *experiment.Trial) {
	debug.SetGCPercent(100) // nothing here blocks a thread
	w, r := t.Open(syspipe.Anonymous)
	t.Check(r.UsePoller())
	p := t.Start(senderWork, sendPlan{m.framing, m.size, m.small}, w)
	if t.Err() != nil {
		return
	}
	w.Close()
	got := Received{Size: m.size, Limit: m.limit}
	if got.Limit == 0 {
		got.Limit = m.size
	}
	next, err := m.reader(r, got.Limit)
	if !t.Check(err) {
		return
	}
	want := message(m.size)
	runtime.GC()
	before := memory()
	msg, err := next()
	var large *framers.TooLargeError
	got.Refused = errors.As(err, &large)
	got.Intact = bytes.Equal(bytes.TrimSuffix(msg, []byte("\n")), want)
	got.Read = int64(r.Counters().Bytes)
	got.Held = int64(memory().Sys - before.Sys)
	msg = nil
	got.AtOnce = heapSince(before)
	for err == nil {
		_, err = next()
	}
	got.Later = heapSince(before)
	runtime.KeepAlive(next) // what the receiver holds on to counts
	runtime.KeepAlive(want)
	r.Close()
	t.Check(p.Wait())
	t.Found(results.Finding{
		ID: "trial/memory/" + m.name, Title: m.title, Verdict: results.Noted,
		Value: got.Held, Unit: "B", Found: results.FormatSize(got.Held) + " held",
		Evidence: results.MustEvidence(got),
	})
}

// reader returns a function that receives the next message.
func (m memoryTrial) reader(r io.Reader, limit int) (func() ([]byte, error), error) {
	if m.whole {
		lines := bufio.NewReader(r)
		return func() ([]byte, error) { return lines.ReadBytes('\n') }, nil
	}
	f, err := framers.Parse(m.framing)
	if err != nil {
		return nil, err
	}
	return f.NewReader(r, framers.WithMaxMessage(limit)).ReadMessage, nil
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// heapSince returns how many bytes more than before are in use on the heap.
func heapSince(before runtime.MemStats) int64 {
	runtime.GC()
	return max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
}

// pass sends lines through a pipe to receive.
func pass(t *experiment.Trial, send func(framers.Writer) error,
	receive func(framers.Reader) error) {
	debug.SetGCPercent(100)
	w, r := t.Open(syspipe.Anonymous)
	t.Check(w.UsePoller())
	t.Check(r.UsePoller())
	if t.Err() != nil {
		return
	}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(framers.NDJSON().NewWriter(w)), w.Close()) }()
	t.Check(receive(framers.NDJSON().NewReader(r)))
	r.Close()
	t.Check(<-sent)
}

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

const writers = 4

// writerBytes is what each writer writes, about.
var writerBytes = 6 << 20

// InterleavedWrites is the evidence of interleave/SIZE: bare writes of one size.
type InterleavedWrites struct {
	Summarised
	Size    int   `json:"size"`     // bytes of a write
	PipeBuf int   `json:"pipe_buf"` // of this system, as documented; 0 where none is
	Reads   []int `json:"reads"`    // sizes of read tried
	Writers int   `json:"writers"`
	Writes  int   `json:"writes"` // in all
	Cut     int   `json:"cut"`    // switches from one writer's bytes to another's inside a write
}

func (e *InterleavedWrites) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%d cuts in %d writes, PIPE_BUF %d", e.Cut, e.Writes, e.PipeBuf)
	if e.Cut == 0 {
		return Sound, advise("interleave, writes whole")
	}
	return Corrupted, advise("interleave, writes cut", e.Writes, e.Cut, e.PipeBuf)
}

// InterleavedFrames is the evidence of interleave/FRAMING: messages of several writers through one
// framing.
type InterleavedFrames struct {
	Summarised
	Framing  string `json:"framing"`
	Size     int    `json:"size"` // bytes of a message
	Writers  int    `json:"writers"`
	Sent     int    `json:"sent"`
	Intact   int    `json:"intact"`  // messages that arrived as they were sent
	Altered  int    `json:"altered"` // delivered without an error, and not what anybody sent
	NotJSON  int    `json:"not_json"`
	Errors   int    `json:"errors"` // that the framing reported
	FirstErr string `json:"first_error,omitempty"`
}

// judge calls a mixture that is delivered as a message a corruption, even where a JSON parser would
// find out: a framing that reports errors and never delivers a mixture has detected it.
func (e *InterleavedFrames) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%d of %d messages intact, %d mixtures delivered, %d errors", e.Intact, e.Sent, e.Altered, e.Errors)
	switch {
	case e.Altered > 0:
		return Corrupted, advise("interleave, mixed", e.Altered, e.NotJSON)
	case e.Intact == e.Sent:
		return Sound, advise("interleave, messages whole")
	case e.Errors > 0:
		return Noticed, advise("interleave, noticed", e.Errors, e.Sent-e.Intact, e.Sent)
	}
	return SilentLoss, advise("interleave, lost", e.Sent-e.Intact, e.Sent)
}

// interleavedSize is above what any system keeps whole, and no part of a pipe's capacity.
const interleavedSize = 20_011

func runInterleave(ctx context.Context, r *recorder) {
	if err := syspipe.Blocking.Supported(); err != nil {
		r.unsupported("", err)
		return
	}
	for _, size := range []int{512, 4096, 4097, 5000, 61440 + 42} {
		r.try(fmt.Sprintf("%dB", size), func() finding { return InterleaveWrites(ctx, size) })
	}
	for _, spec := range []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "chunked:61440", "adaptive:4096"} {
		r.try(spec, func() finding {
			count := writerBytes / interleavedSize
			e := &InterleavedFrames{Framing: spec, Size: interleavedSize, Writers: writers, Sent: writers * count}
			f := script.Must(framers.Parse(spec))
			withWriters(ctx, writerArgs{Count: count, Size: interleavedSize, Framing: spec}, func(r *syspipe.End) {
				in := f.NewReader(r, framers.WithPolicy(framers.Resync), framers.WithVerbatim(),
					framers.WithMaxMessage(4*interleavedSize))
				for {
					msg, err := in.ReadMessage()
					switch {
					case err == io.EOF:
						return
					case err == nil:
						e.count(msg)
						continue
					case e.Errors == 0:
						e.FirstErr = err.Error()
					}
					if e.Errors++; errors.Is(err, io.ErrUnexpectedEOF) || e.Errors > 10*e.Sent {
						script.Must(io.Copy(io.Discard, r)) // the writers finish; there is nothing more to learn
						return
					}
				}
			})
			return e
		})
	}
}

type writerArgs struct {
	Writer  int
	Count   int
	Size    int
	Framing string // empty: bare writes
}

// withWriters has the writers write to one pipe while read reads it; at its end all of them are done.
func withWriters(ctx context.Context, args writerArgs, read func(r *syspipe.End)) {
	w, r, closeBoth := Open(syspipe.Anonymous)
	defer closeBoth()
	UsePoller(r)
	for args.Writer = range writers {
		p := script.Must(proc.Self("faults/writer", args, w))
		defer p.Close()
		p.Share() // its end of the pipe is that of the other writers too
		script.Check(p.Start(ctx))
	}
	w.Close()
	read(r)
}

// InterleaveWrites has four processes write bare writes of size bytes to one pipe and counts those
// that were cut.
func InterleaveWrites(ctx context.Context, size int) *InterleavedWrites {
	// PIPE_BUF by operating system: linux/limits.h, and sys/syslimits.h of the two others. Windows
	// documents none.
	pipeBuf := map[string]int{"linux": 4096, "darwin": 512, "freebsd": 512}
	e := &InterleavedWrites{Size: size, PipeBuf: pipeBuf[runtime.GOOS], Writers: writers}
	// Reads of the pipe's whole content make sizes that divide it look whole, so short ones are
	// tried too.
	for _, read := range []int{64 << 10, 4 << 10} {
		count := max(1, writerBytes/2/size)
		total := 0
		withWriters(ctx, writerArgs{Count: count, Size: size}, func(r *syspipe.End) { total = e.countCuts(r, read) })
		if total != writers*count*size {
			script.Check(fmt.Errorf("writes of %d bytes: %d bytes arrived of %d", size, total, writers*count*size))
		}
		e.Reads = append(e.Reads, read)
		e.Writes += writers * count
	}
	return e
}

// countCuts reads to the end, so much at once, and returns how much came. Each writer has a letter;
// where it changes, the run before must be a multiple of the size of a write.
func (e *InterleavedWrites) countCuts(r io.Reader, read int) (total int) {
	buf := make([]byte, read)
	var last byte
	run := 0
	for {
		n, err := r.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			if p[0] != last {
				if run%e.Size != 0 {
					e.Cut++
				}
				last, run = p[0], 0
			}
			same := len(p) - len(bytes.TrimLeft(p, string(last)))
			run += same
			p = p[same:]
		}
		total += n
		if err == io.EOF {
			return total
		}
		script.Check(err)
	}
}

// count tells a message as it was sent from a mixture.
func (e *InterleavedFrames) count(msg []byte) {
	var m struct{ Writer, N int }
	valid := json.Unmarshal(msg, &m) == nil
	if valid && bytes.Equal(msg, writerMessage(m.Writer, m.N, interleavedSize)) {
		e.Intact++
		return
	}
	e.Altered++
	if !valid {
		e.NotJSON++
	}
}

// writerMessage is JSON of exactly size bytes that says who sent it, filled with the sender's
// letter.
func writerMessage(writer, n, size int) []byte {
	head := fmt.Sprintf(`{"writer":%d,"n":%d,"pad":"`, writer, n)
	pad := bytes.Repeat([]byte{'a' + byte(writer)}, size-len(head)-2)
	return append(append([]byte(head), pad...), `"}`...)
}

// writeShare writes a writer's share to the shared pipe.
func writeShare(w *proc.Work, args writerArgs) {
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	out := w.Ends[0]
	if args.Framing == "" {
		p := bytes.Repeat([]byte{'a' + byte(args.Writer)}, args.Size)
		for range args.Count {
			script.Must(out.Write(p))
		}
		return
	}
	f := script.Must(framers.Parse(args.Framing))
	messages := f.NewWriter(out)
	for i := range args.Count {
		script.Check(messages.WriteMessage(writerMessage(args.Writer, i, args.Size)))
	}
}

// Mismatch is the evidence of framing-mismatch for one pair.
type Mismatch struct {
	Summarised
	Sender     string `json:"sender"`
	Reader     string `json:"reader"`
	First      string `json:"first"` // what became of the first message, while the sender waits for its answer
	Sent       int    `json:"sent"`
	Understood int    `json:"understood"` // messages delivered as they were sent
	Garbled    int    `json:"garbled"`    // delivered, and no message that was sent
	NotJSON    int    `json:"not_json"`   // of them, no JSON: a program that parses notices
	Waits      bool   `json:"waits"`      // the reader took all there was and wants more, although no message is missing
	Error      string `json:"error,omitempty"`
}

// What becomes of a message.
const (
	understood = "understood"
	garbled    = "garbled"
	refused    = "refused"
	waits      = "the reader waits for more"
)

// judge lets the first message decide where the reader waits for more of it: its sender waits too,
// for an answer, and what a longer message would bring to light never comes.
func (e *Mismatch) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("first message: %s; %d of %d understood", e.First, e.Understood, e.Sent)
	if e.Garbled > 0 {
		e.Summary += fmt.Sprintf(", %d garbled", e.Garbled)
	}
	stuck := advise("framing-mismatch, stuck")
	switch {
	case e.Understood == e.Sent && e.Garbled == 0:
		return Sound, advise("framing-mismatch, understood", e.Reader, e.Sender)
	case e.First == waits:
		return Stuck, stuck
	case e.Error != "":
		return Refused, advise("framing-mismatch, refused", e.Error)
	case e.Garbled > 0:
		return Corrupted, advise("framing-mismatch, garbled", e.Garbled, e.NotJSON)
	case e.Waits:
		return Stuck, stuck
	}
	return SilentLoss, stuck
}

func runFramingMismatch(_ context.Context, r *recorder) {
	framings := []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096"}
	for _, sender := range framings {
		for _, reader := range framings {
			r.try(sender+"-to-"+reader, func() finding { return SendMismatched(sender, reader) })
		}
	}
}

// SendMismatched sends three messages in one framing to a reader of another, the last of them
// larger than a chunk.
func SendMismatched(sender, reader string) *Mismatch {
	e := &Mismatch{Sender: sender, Reader: reader}
	from, to := script.Must(framers.Parse(sender)), script.Must(framers.Parse(reader))
	messages := [][]byte{[]byte(messageA), []byte(messageB), []byte(`{"jsonrpc":"2.0","id":3,"text":"` + strings.Repeat("x", 20_000) + `"}`)}
	first := *e
	first.send(from, to, messages[:1])
	switch {
	case first.Understood == 1:
		e.First = understood
	case first.Error != "":
		e.First = refused
	case first.Garbled > 0:
		e.First = garbled
	default:
		e.First = waits
	}
	e.send(from, to, messages)
	return e
}

// send sends the messages, and notes what the reader makes of them.
func (e *Mismatch) send(from, to framers.Framing, messages [][]byte) {
	e.Sent = len(messages)
	var wire bytes.Buffer
	w := from.NewWriter(&wire)
	for _, msg := range messages {
		script.Check(w.WriteMessage(msg))
	}
	Deliver(wire.Bytes(), true, func(r io.Reader) {
		in := to.NewReader(r)
		for { // until the reader fails or wants more than there is
			msg, err := in.ReadMessage()
			switch {
			case errors.Is(err, ErrStarved):
				e.Waits = true
				return
			case err != nil:
				e.Error = err.Error()
				return
			case e.Understood < e.Sent && bytes.Equal(msg, messages[e.Understood]):
				e.Understood++
				continue
			case !json.Valid(msg):
				e.NotJSON++
			}
			e.Garbled++
		}
	})
}

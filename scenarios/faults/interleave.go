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

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// writers is how many processes write to one pipe.
const writers = 4

// writerBytes is roughly how many bytes each writer writes.
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
	e.Summary = fmt.Sprintf("%d of %d messages intact, %d mixtures delivered, %d errors",
		e.Intact, e.Sent, e.Altered, e.Errors)
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

func runInterleave(ctx context.Context, r *recorder) error {
	if err := syspipe.Blocking.Supported(); err != nil {
		return r.recordUnsupported("", err)
	}
	for _, size := range []int{512, 4096, 4097, 5000, 61440 + 42} {
		err := r.try(fmt.Sprintf("%dB", size), func() (finding, error) {
			return CountCutWrites(ctx, size)
		})
		if err != nil {
			return err
		}
	}
	for _, spec := range []string{
		"ndjson", "content-length", "length-prefix",
		"chunked:4096", "chunked:61440", "adaptive:4096",
	} {
		err := r.try(spec, func() (finding, error) { return interleaveFrames(ctx, spec) })
		if err != nil {
			return err
		}
	}
	return nil
}

// interleaveFrames has several processes write messages in one framing to one pipe, and counts what
// a reader of that framing makes of them.
func interleaveFrames(ctx context.Context, spec string) (*InterleavedFrames, error) {
	f, err := framers.Parse(spec)
	if err != nil {
		return nil, err
	}
	count := writerBytes / interleavedSize
	e := &InterleavedFrames{
		Framing: spec,
		Size:    interleavedSize,
		Writers: writers,
		Sent:    writers * count,
	}
	args := writerArgs{Count: count, Size: interleavedSize, Framing: spec}
	err = withWriters(ctx, args, func(r *syspipe.End) error { return e.receive(f, r) })
	if err != nil {
		return nil, err
	}
	return e, nil
}

// receive reads messages to the end of the stream and counts them. It gives up the messages, and
// reads the rest as mere bytes, if a message is cut off at the end or too many errors come: the
// writers can finish then, and there is nothing more to learn.
func (e *InterleavedFrames) receive(f framers.Framing, r *syspipe.End) error {
	in := f.NewReader(r,
		framers.WithPolicy(framers.Resync),
		framers.WithVerbatim(),
		framers.WithMaxMessage(4*interleavedSize),
	)
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			e.count(msg)
			continue
		}
		if e.Errors == 0 {
			e.FirstErr = err.Error()
		}
		e.Errors++
		if errors.Is(err, io.ErrUnexpectedEOF) || e.Errors > 10*e.Sent {
			_, err := io.Copy(io.Discard, r)
			return err
		}
	}
}

type writerArgs struct {
	Writer  int
	Count   int
	Size    int
	Framing string // empty: bare writes
}

// withWriters has the writers write to one pipe while read reads it. When it returns all of them
// are gone.
func withWriters(ctx context.Context, args writerArgs, read func(r *syspipe.End) error) error {
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(r); err != nil {
		return err
	}
	for i := range writers {
		args.Writer = i
		p, err := proc.Self("faults/writer", args, w)
		if err != nil {
			return err
		}
		defer p.Close()
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	w.Close()
	return read(r)
}

// pipeBuf returns PIPE_BUF of this system, as documented in linux/limits.h or sys/syslimits.h; 0
// for a system that documents none.
func pipeBuf() int {
	switch runtime.GOOS {
	case "linux":
		return 4096
	case "darwin", "freebsd":
		return 512
	}
	return 0
}

// CountCutWrites has four processes write bare writes of size bytes to one pipe and counts those
// that were cut.
func CountCutWrites(ctx context.Context, size int) (*InterleavedWrites, error) {
	e := &InterleavedWrites{Size: size, PipeBuf: pipeBuf(), Writers: writers}
	count := max(1, writerBytes/2/size)
	// Reads of the pipe's whole content make sizes that divide it look whole, so short ones are
	// tried too.
	for _, read := range []int{64 << 10, 4 << 10} {
		total := 0
		args := writerArgs{Count: count, Size: size}
		err := withWriters(ctx, args, func(r *syspipe.End) error {
			n, err := e.countCuts(r, read)
			total = n
			return err
		})
		if err != nil {
			return nil, err
		}
		if total != writers*count*size {
			return nil, fmt.Errorf("writes of %d bytes: %d bytes arrived of %d",
				size, total, writers*count*size)
		}
		e.Reads = append(e.Reads, read)
		e.Writes += writers * count
	}
	return e, nil
}

// countCuts reads to the end, at most so many bytes at once, and returns how many came. Each writer
// has a letter; where it changes, the run before must be a multiple of the size of a write.
func (e *InterleavedWrites) countCuts(r io.Reader, read int) (total int, err error) {
	buf := make([]byte, read)
	var last byte
	run := 0
	for {
		n, err := r.Read(buf)
		p := buf[:n]
		for len(p) > 0 {
			if p[0] != last {
				if run%e.Size != 0 {
					e.Cut++
				}
				last = p[0]
				run = 0
			}
			same := len(p) - len(bytes.TrimLeft(p, string(last)))
			run += same
			p = p[same:]
		}
		total += n
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
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
func writeShare(w *proc.Work, args writerArgs) error {
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	out := w.Ends[0]
	if args.Framing == "" {
		p := bytes.Repeat([]byte{'a' + byte(args.Writer)}, args.Size)
		for range args.Count {
			if _, err := out.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := framers.Parse(args.Framing)
	if err != nil {
		return err
	}
	messages := f.NewWriter(out)
	for i := range args.Count {
		msg := writerMessage(args.Writer, i, args.Size)
		if err := messages.WriteMessage(msg); err != nil {
			return err
		}
	}
	return nil
}

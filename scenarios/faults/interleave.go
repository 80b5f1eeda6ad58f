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
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var interleave = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "interleave"),
	Deadline:     3 * time.Minute,
	run:          runInterleave,
}

const (
	scribes     = 4
	scribeBytes = 6 << 20 // of each writer, about
)

// A Mixture is the evidence of interleave/SIZE: bare writes of one size.
type Mixture struct {
	Size    int   `json:"size"`     // bytes of a write
	PipeBuf int   `json:"pipe_buf"` // of this system, as documented; 0 where none is
	Reads   []int `json:"reads"`    // sizes of read tried
	Writers int   `json:"writers"`
	Writes  int   `json:"writes"` // in all
	Cut     int   `json:"cut"`    // switches from one writer's bytes to another's inside a write
}

func judgeMixture(e Mixture) Verdict {
	if e.Cut > 0 {
		return Corrupted
	}
	return Sound
}

func adviseMixture(v Verdict, e Mixture) string {
	if v == Sound {
		return "No write was cut in this run. Only up to PIPE_BUF is that a promise; above it, sizes that divide the pipe's capacity merely look whole."
	}
	return fmt.Sprintf("In %[2]d writes other writers' bytes got in %[1]d times. Let one process, or one lock, own a pipe; or keep each write within PIPE_BUF (%[3]d bytes here).",
		e.Cut, e.Writes, e.PipeBuf)
}

// A Babel is the evidence of interleave/FRAMING: messages of several writers
// through one framing.
type Babel struct {
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

// judgeBabel is the rule of interleave/FRAMING. A framing that reports errors
// and never delivers a mixture has detected it; a mixture delivered as a
// message is corruption, even where a JSON parser would find out.
func judgeBabel(e Babel) Verdict {
	switch {
	case e.Altered > 0:
		return Corrupted
	case e.Intact == e.Sent:
		return Sound
	case e.Errors > 0:
		return Noticed
	}
	return SilentLoss
}

func adviseBabel(v Verdict, e Babel) string {
	switch v {
	case Sound:
		return "Every message survived: either no frame is longer than the system keeps whole and the framing sorts them by message, or no write was cut in this run."
	case Noticed:
		return fmt.Sprintf("The framing noticed (%d errors) and delivered no mixture; %d of %d messages were lost. Let one process, or one lock, own the pipe.", e.Errors, e.Sent-e.Intact, e.Sent)
	}
	return fmt.Sprintf("%d mixtures were delivered as messages, %d of which are no JSON: the rest is left to luck. Let one process, or one lock, own the pipe.", e.Altered, e.NotJSON)
}

func mixtureSizes() []int { return []int{512, 4096, 4097, 5000, 61440 + 42} }

func babelFramings() []string {
	return []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "chunked:61440", "adaptive:4096"}
}

// babelSize is above what any system keeps whole, and no part of a pipe's
// capacity.
const babelSize = 20_011

func runInterleave(ctx context.Context, s *stage) error {
	if err := syspipe.Blocking.Supported(); err != nil {
		return s.unsupported("", err)
	}
	for _, size := range mixtureSizes() {
		s.step("writes of %d bytes", size)
		e, err := Mix(ctx, size)
		if err != nil {
			return err
		}
		v := judgeMixture(e)
		if err := s.fault(fmt.Sprintf("%dB", size), v, e, adviseMixture(v, e)); err != nil {
			return err
		}
	}
	for _, spec := range babelFramings() {
		s.step("%s", spec)
		e, err := babel(ctx, spec)
		if err != nil {
			return err
		}
		v := judgeBabel(e)
		if err := s.fault(spec, v, e, adviseBabel(v, e)); err != nil {
			return err
		}
	}
	return nil
}

type scribeArgs struct {
	Writer  int
	Count   int
	Size    int
	Framing string // empty: bare writes
}

// crowd starts the writers on one pipe and returns its reading end, at whose
// end all of them are done.
func crowd(ctx context.Context, args scribeArgs) (r *syspipe.End, dismiss func(), err error) {
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := actor.Park(r); err != nil {
		return nil, nil, errors.Join(err, w.Close(), r.Close())
	}
	var all []*actor.Actor
	dismiss = func() {
		for _, a := range all {
			a.Dismiss()
		}
		r.Close()
	}
	for i := range scribes {
		args.Writer = i
		a, err := actor.PrepareShared(ctx, "scribe", args, w)
		if err == nil {
			all = append(all, a)
			err = a.Start()
		}
		if err != nil {
			w.Close()
			dismiss()
			return nil, nil, err
		}
	}
	return r, dismiss, w.Close()
}

// Mix has four processes write bare writes of size bytes to one pipe and
// counts those that were cut.
func Mix(ctx context.Context, size int) (Mixture, error) {
	e := Mixture{Size: size, PipeBuf: pipeBuf, Writers: scribes}
	// Reads of the pipe's whole content make sizes that divide it look whole,
	// so short ones are tried too.
	for _, read := range []int{64 << 10, 4 << 10} {
		count := max(1, scribeBytes/2/size)
		r, dismiss, err := crowd(ctx, scribeArgs{Count: count, Size: size})
		if err != nil {
			return e, err
		}
		cut, total, err := countCuts(r, size, read)
		dismiss()
		if err != nil {
			return e, err
		}
		if total != scribes*count*size {
			return e, fmt.Errorf("writes of %d bytes: %d bytes arrived of %d", size, total, scribes*count*size)
		}
		e.Reads = append(e.Reads, read)
		e.Writes += scribes * count
		e.Cut += cut
	}
	return e, nil
}

// countCuts reads to the end. Each writer has a letter; where it changes, the
// run before must be a multiple of size.
func countCuts(r io.Reader, size, read int) (cut, total int, err error) {
	buf := make([]byte, read)
	var last byte
	run := 0
	for {
		n, err := r.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			if p[0] != last {
				if run%size != 0 {
					cut++
				}
				last, run = p[0], 0
			}
			same := len(p) - len(bytes.TrimLeft(p, string(last)))
			run += same
			p = p[same:]
		}
		total += n
		if err == io.EOF {
			return cut, total, nil
		}
		if err != nil {
			return cut, total, err
		}
	}
}

// babel sends messages of four writers through one framing.
func babel(ctx context.Context, spec string) (Babel, error) {
	count := scribeBytes / babelSize
	e := Babel{Framing: spec, Size: babelSize, Writers: scribes, Sent: scribes * count}
	f, err := framers.Parse(spec)
	if err != nil {
		return e, err
	}
	r, dismiss, err := crowd(ctx, scribeArgs{Count: count, Size: babelSize, Framing: spec})
	if err != nil {
		return e, err
	}
	defer dismiss()
	in := f.NewReader(r, framers.WithPolicy(framers.Resync), framers.WithVerbatim(), framers.WithMaxMessage(4*babelSize))
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return e, nil
		}
		if err == nil {
			e.judge(msg)
			continue
		}
		if e.Errors++; e.FirstErr == "" {
			e.FirstErr = err.Error()
		}
		if errors.Is(err, io.ErrUnexpectedEOF) || e.Errors > 10*e.Sent {
			_, err := io.Copy(io.Discard, r) // the writers finish; there is nothing more to learn
			return e, err
		}
	}
}

// judge tells a message as it was sent from a mixture.
func (e *Babel) judge(msg []byte) {
	var m struct{ Writer, N int }
	valid := json.Unmarshal(msg, &m) == nil
	if valid && bytes.Equal(msg, scribeMessage(m.Writer, m.N, babelSize)) {
		e.Intact++
		return
	}
	e.Altered++
	if !valid {
		e.NotJSON++
	}
}

// scribeMessage is JSON of exactly size bytes that says who sent it, filled
// with the sender's letter.
func scribeMessage(writer, n, size int) []byte {
	head := fmt.Sprintf(`{"writer":%d,"n":%d,"pad":"`, writer, n)
	pad := bytes.Repeat([]byte{'a' + byte(writer)}, size-len(head)-2)
	return append(append([]byte(head), pad...), `"}`...)
}

// playScribe writes its share to the shared pipe.
func playScribe(s *actor.Stage) error {
	var args scribeArgs
	if err := s.Args(&args); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	w := s.Ends[0]
	if args.Framing == "" {
		p := bytes.Repeat([]byte{'a' + byte(args.Writer)}, args.Size)
		for range args.Count {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := framers.Parse(args.Framing)
	if err != nil {
		return err
	}
	out := f.NewWriter(w)
	for i := range args.Count {
		if err := out.WriteMessage(scribeMessage(args.Writer, i, args.Size)); err != nil {
			return err
		}
	}
	return nil
}

// pipeBufOf is PIPE_BUF by operating system: linux/limits.h, and
// sys/syslimits.h of the two others. Windows documents none.
var pipeBufOf = map[string]int{"linux": 4096, "darwin": 512, "freebsd": 512}

var pipeBuf = pipeBufOf[runtime.GOOS]

package claims

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// An Option is one way for a client to take an oversized message.
type Option struct {
	Option     string `json:"option"`
	Held       int64  `json:"held"`        // memory the client got from the system, in bytes
	Read       int64  `json:"read"`        // bytes it had read when it knew; 0: it never knew
	ServerSees string `json:"server_sees"` // how the server learns of it
	ID         string `json:"id"`          // of the request, as the client found it
	Next       bool   `json:"next"`        // the next message was delivered
	DetectNS   int64  `json:"detect_ns"`   // from the first byte to the client's knowing
}

// Compared options are the evidence of 001-closing-safer.
type Compared struct {
	Sent    int      `json:"sent"` // bytes of the oversized message
	Limit   int      `json:"limit"`
	Options []Option `json:"options"` // no limit, close, answer, negotiated
}

// The options of the document, in its order.
const (
	optionNone = "no limit"
	optionShut = "close"
	optionSay  = "answer"
	optionAsk  = "negotiated"
)

func gatherOptions(ctx context.Context, _ *session) Compared {
	e := Compared{Sent: oversized, Limit: frameLimit}
	for _, name := range []string{optionNone, optionShut, optionSay} {
		e.Options = append(e.Options, tryOption(ctx, name, e.Sent))
	}
	// Who knows the other's limit refuses before the first byte.
	err := framers.Carries(framers.NDJSON(), message(e.Sent), framers.WithMaxMessage(frameLimit))
	ask := Option{Option: optionAsk, ID: "1", Next: true}
	if err == nil {
		script.Check(errors.New("a writer with a limit took a message beyond it"))
	}
	ask.ServerSees = "its own error before it sends: " + err.Error()
	e.Options = append(e.Options, ask)
	return e
}

// tryOption is the server: it sends an oversized reply and a small one, and looks at what comes
// back.
func tryOption(ctx context.Context, name string, size int) Option {
	o := Option{Option: name}
	w, clientIn, closeThere := faults.Open(syspipe.Anonymous)
	defer closeThere()
	clientOut, r, closeBack := faults.Open(syspipe.Anonymous)
	defer closeBack()
	p := script.Must(proc.Self("claims/client", name, clientIn, clientOut))
	defer p.Close()
	faults.UsePoller(w, r)
	script.Check(p.Start(ctx))
	sent := make(chan error, 1)
	go func() {
		out := framers.NDJSON().NewWriter(w)
		sent <- errors.Join(out.WriteMessage(message(size)), out.WriteMessage([]byte(`{"id":2}`)), w.Close())
	}()
	answer, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && err != io.EOF {
		return o
	}
	script.Check(p.Report(&o))
	o.Option = name
	failed := <-sent
	switch broken := new(syspipe.BrokenPipeError); {
	case errors.As(failed, &broken):
		o.ServerSees = fmt.Sprintf("a broken pipe, after %d of %d bytes", broken.Accepted, size)
	case failed != nil && !errors.Is(failed, syscall.EPIPE):
		script.Check(failed)
	case failed != nil:
		o.ServerSees = "a broken pipe"
	case answer != "":
		o.ServerSees = "an error response: " + strings.TrimSpace(answer)
	default:
		o.ServerSees = "nothing"
	}
	return o
}

// receiveOversized is the client: it takes an oversized message as its option has it.
func receiveOversized(w *proc.Work, name string) {
	faults.UsePoller(w.Ends...)
	in, out := w.Ends[0], w.Ends[1]
	limit, policy := frameLimit, framers.Close
	switch name {
	case optionNone:
		limit = -1
	case optionSay:
		policy = framers.Resync
	}
	before := faults.MemoryFromSystem()
	began := time.Now()
	r := framers.NDJSON().NewReader(in, framers.WithMaxMessage(limit), framers.WithPolicy(policy))
	_, err := r.ReadMessage()
	o := Option{ID: "null"}
	var large *framers.TooLargeError
	if errors.As(err, &large) {
		o.Read, o.DetectNS = int64(in.Counters().Bytes), time.Since(began).Nanoseconds()
		o.ID = idIn(large.Head)
	}
	switch {
	case large != nil && name == optionShut:
		in.Close()
	case large != nil:
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"message too large"}}`+"\n", o.ID)
	}
	if name != optionShut {
		next, err := r.ReadMessage()
		o.Next = err == nil && string(next) == `{"id":2}`
	}
	o.Held = faults.MemoryFromSystem() - before
	out.Close()
	if name != optionShut {
		in.Close()
	}
	script.Check(w.Report(o))
}

func judgeOptions(e Compared) Judgement {
	options := map[string]Option{}
	for _, o := range e.Options {
		options[o.Option] = o
	}
	shut, say := options[optionShut], options[optionSay]
	figure := fmt.Sprintf("closing held %s, answering %s", faults.Size(shut.Held), faults.Size(say.Held))
	switch {
	case 2*shut.Held < say.Held:
		return holds(figure, "answering takes more memory than closing")
	case 4*say.Held <= 5*shut.Held && say.ID != "null" && say.Next:
		return refuted(figure, "answering knows at the same byte, holds no more, finds the id in the first KiB, and keeps the connection; a server that is cut off sees a broken pipe and no reason")
	}
	return depends(figure, "answering holds about as much, but did not find the id, or did not go on")
}

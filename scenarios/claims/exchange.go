package claims

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
)

// stallAfter is how long a write may wait before it counts as stalled. It can be short: nobody
// reads, so nothing can end the wait.
const stallAfter = 150 * time.Millisecond

// A Stall says what happened to writes into a pipe that nobody reads.
type Stall struct {
	Offered  int64  `json:"offered"`  // bytes
	Accepted int64  `json:"accepted"` // by the kernel
	Stalled  bool   `json:"stalled"`  // the write was still waiting when it was given up
	Short    uint64 `json:"short"`    // calls that took only part
	EAGAIN   uint64 `json:"eagain"`   // calls that were refused for now
	Error    string `json:"error,omitempty"`
}

// writeUnread writes to a pipe that nobody reads, and gives up after stallAfter. An error of the
// write is in the Stall; the error that writeUnread returns means that nothing was written.
func writeUnread(wait syspipe.IO, offered int64, write func(io.Writer) error) (Stall, error) {
	w, r, err := faults.OpenPipe(syspipe.Anonymous)
	if err != nil {
		return Stall{}, err
	}
	defer r.Close()
	defer w.Close()
	if wait == syspipe.Poller {
		err = w.UsePoller()
	} else {
		err = w.SetIO(wait)
	}
	if err != nil {
		return Stall{}, err
	}
	timer := time.AfterFunc(stallAfter, func() { w.Close() })
	err = write(w)
	timer.Stop()
	c := w.Counters()
	s := Stall{Offered: offered, Accepted: int64(c.Bytes), Short: c.Short, EAGAIN: c.EAGAIN}
	s.Stalled = errors.Is(err, os.ErrClosed)
	if !s.Stalled {
		s.Error = faults.ErrorText(err)
	}
	return s, nil
}

// writeBytes returns a function that writes n bytes at once, without a framing.
func writeBytes(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// sending returns a function that writes messages in one framing.
func sending(f framers.Framing, messages ...[]byte) func(io.Writer) error {
	return func(w io.Writer) error {
		out := f.NewWriter(w)
		for _, msg := range messages {
			if err := out.WriteMessage(msg); err != nil {
				return err
			}
		}
		return nil
	}
}

// exchange sends messages through a pipe in one framing, and gives what arrives to receive.
func exchange(
	f framers.Framing, messages [][]byte, receive func(framers.Reader) error,
	opts ...framers.Option,
) error {
	return faults.Transfer(sending(f, messages...), func(r io.Reader) error {
		return receive(f.NewReader(r, opts...))
	})
}

// message is JSON of exactly n bytes, 34 at least.
func message(n int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":1,"text":"`, `"}`
	n = max(n, len(head)+len(tail))
	p := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
	copy(p, head)
	copy(p[n-len(tail):], tail)
	return p
}

// messagesOf are messages of those sizes.
func messagesOf(sizes ...int) [][]byte {
	var out [][]byte
	for _, n := range sizes {
		out = append(out, message(n))
	}
	return out
}

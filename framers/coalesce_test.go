package framers_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

func TestCoalescer(t *testing.T) {
	rec := &recorder{}
	c := framers.NewCoalescer(rec, 100)
	w := framers.NDJSON().NewWriter(c)
	send := func(n int) {
		t.Helper()
		if err := w.WriteMessage(message(n)); err != nil {
			t.Fatal(err)
		}
	}
	send(30)
	send(30)
	if len(rec.calls) != 0 || c.Buffered() != 62 {
		t.Fatalf("%d calls, %d bytes waiting", len(rec.calls), c.Buffered())
	}
	send(40) // does not fit with the others
	if len(rec.calls) != 1 || c.Buffered() != 41 {
		t.Fatalf("%d calls, %d bytes waiting", len(rec.calls), c.Buffered())
	}
	send(200) // goes through, with what waits
	if len(rec.calls) != 2 || c.Buffered() != 0 || len(rec.calls[1]) != 41+201 {
		t.Fatalf("%d calls, %d bytes waiting", len(rec.calls), c.Buffered())
	}
	send(5)
	for range 2 { // the second has nothing to do
		if err := c.Flush(); err != nil || len(rec.calls) != 3 {
			t.Fatalf("%d calls, %v", len(rec.calls), err)
		}
	}
	got, err := decode(framers.NDJSON().NewReader(strings.NewReader(strings.Join(rec.calls, ""))))
	if err != io.EOF {
		t.Fatal(err)
	}
	wantMessages(t, got, [][]byte{message(30), message(30), message(40), message(200), message(5)})
}

func TestCoalescerWithEveryFraming(t *testing.T) {
	for _, spec := range suite {
		f := mustParse(t, spec)
		var wire bytes.Buffer
		var msgs [][]byte
		c := framers.NewCoalescer(&wire, 0)
		w := f.NewWriter(c)
		for n := 1; n < 100_000; n = n*2 + 1 {
			msgs = append(msgs, message(n))
			if err := w.WriteMessage(message(n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := decode(f.NewReader(&wire))
		if err != io.EOF {
			t.Errorf("%s: %v", spec, err)
		}
		wantMessages(t, got, msgs)
	}
}

func TestCoalescerGathersUncopied(t *testing.T) {
	g := &gatherer{}
	c := framers.NewCoalescer(g, 0)
	w := framers.NDJSON().NewWriter(c)
	msg := message(100_000)
	if err := errors.Join(w.WriteMessage(message(50)), w.WriteMessage(msg)); err != nil {
		t.Fatal(err)
	}
	if len(g.lists) != 1 || len(g.lists[0]) != 3 || &g.lists[0][1][0] != &msg[0] {
		t.Errorf("%d gather calls, not one of what waited, the message, and its newline", len(g.lists))
	}
}

func TestCoalescerAsAWriter(t *testing.T) {
	rec := &recorder{}
	c := framers.NewCoalescer(rec, 10)
	for _, s := range []string{"abc", "defghijk", "lmnopqrstuvwxyz"} {
		if n, err := io.WriteString(c, s); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if got := strings.Join(rec.calls, "|"); got != "abcdefghijk|lmnopqrstuvwxyz" {
		t.Errorf("wrote %q", got)
	}
}

func TestCoalescerKeepsItsError(t *testing.T) {
	full := errors.New("disk full")
	dst := &shortWriter{takes: 0, err: full}
	c := framers.NewCoalescer(dst, 10)
	w := framers.NDJSON().NewWriter(c)
	if err := w.WriteMessage([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); !errors.Is(err, full) {
		t.Errorf("flush: %v", err)
	}
	*dst = shortWriter{takes: 1 << 20}
	_, plain := c.Write([]byte("x"))
	for name, err := range map[string]error{"Flush": c.Flush(), "WriteMessage": w.WriteMessage([]byte("x")), "Write": plain} {
		if !errors.Is(err, full) {
			t.Errorf("%s after a failed flush: %v", name, err)
		}
	}
}

func TestCoalescerAllocatesNothing(t *testing.T) {
	c := framers.NewCoalescer(io.Discard, 1000)
	w := framers.NDJSON().NewWriter(c)
	msg := message(100)
	if a := testing.AllocsPerRun(100, func() { w.WriteMessage(msg) }); a > 0 {
		t.Errorf("%.1f allocations a message", a)
	}
}

// A Coalescer that NewCoalescer did not make has no stream, and says so.
func TestZeroCoalescer(t *testing.T) {
	var c framers.Coalescer
	if err := c.Flush(); err != nil {
		t.Errorf("flush of nothing: %v", err)
	}
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("write: no error")
	}
	if err := framers.NDJSON().NewWriter(&c).WriteMessage([]byte("x")); err == nil {
		t.Error("a message: no error")
	}
}

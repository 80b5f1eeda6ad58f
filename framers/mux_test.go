package framers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pipebench/pipebench/framers"
)

// A gate lets one write through at a time, and records whose it was: the first byte of each frame's
// data, or of the line.
type gate struct {
	open   chan struct{}
	frames []string
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	data := b
	if parts := bytes.SplitN(b, []byte(":"), 4); len(parts) == 4 {
		data = parts[3]
	}
	g.frames = append(g.frames, string(data[:1]))
	return len(b), nil
}

// order sends messages of the letters given, of so many frames each, and returns in which order the
// frames go out. All but the first wait before any frame is let through.
func order(t *testing.T, spec string, sends ...sending) string {
	var got string
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		m := framers.NewMux(g, mustParse(t, spec))
		for _, s := range sends {
			go func() {
				// 22 bytes of data fit a frame of 64, fewer from ten frames on
				if err := m.Send(context.Background(), s.priority, bytes.Repeat([]byte(s.letter), 22*s.frames)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		close(g.open)
		synctest.Wait()
		got = strings.Join(g.frames, "")
	})
	return got
}

type sending struct {
	letter           string
	priority, frames int
}

func TestMuxOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		sends []sending
		want  string
	}{
		{"equals take turns", []sending{{"a", 0, 3}, {"b", 0, 3}, {"c", 0, 2}}, "abcabcab"},
		{"the higher goes first", []sending{{"a", 0, 3}, {"b", 1, 3}, {"c", 2, 2}}, "accbbbaa"},
		{"below the one under way", []sending{{"a", 1, 3}, {"b", 0, 1}, {"c", 1, 1}}, "acaab"},
		{"alone", []sending{{"a", 0, 5}}, "aaaaa"},
		{"none starves", []sending{{"a", 9, 18}, {"b", 0, 1}}, "aaaaaaaaaaaaaaaabaaaa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := order(t, "chunked:64", c.sends...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestMuxWholeMessages(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "length-prefix"} {
		if got := len(order(t, spec, sending{"a", 0, 3}, sending{"b", 0, 3}, sending{"c", 1, 2})); got != 3 {
			t.Errorf("%s: %d writes, want 3", spec, got)
		}
	}
	if got := order(t, "ndjson", sending{"a", 0, 3}, sending{"b", 0, 3}, sending{"c", 1, 2}); got != "acb" {
		t.Errorf("got %s, want acb", got)
	}
}

func TestMuxForeignFraming(t *testing.T) {
	var wire bytes.Buffer
	m := framers.NewMux(&wire, foreign{})
	if err := m.Send(context.Background(), 0, []byte("x")); err != nil || wire.String() != "<x>" {
		t.Errorf("wrote %q, %v", &wire, err)
	}
}

// Many senders, one stream: every message arrives whole.
func TestMuxDelivers(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "chunked:100", "adaptive:100", "length-prefix"} {
		f := mustParse(t, spec)
		r, w := io.Pipe()
		m := framers.NewMux(w, f)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for k := range 20 {
					if err := m.Send(context.Background(), i%3, message(1+50*i+k)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		go func() { all.Wait(); w.Close() }()
		got, err := decode(f.NewReader(r))
		if err != io.EOF || len(got) != 160 {
			t.Fatalf("%s: %d messages, %v", spec, len(got), err)
		}
		for _, msg := range got {
			if !bytes.Equal(msg, message(len(msg))) {
				t.Fatalf("%s: a message of %d bytes is not what was sent", spec, len(msg))
			}
		}
	}
}

func TestMuxCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		m := framers.NewMux(g, mustParse(t, "chunked:64"))
		var done sync.WaitGroup
		send := func(ctx context.Context, letter string, want error) {
			done.Go(func() {
				if err := m.Send(ctx, 0, bytes.Repeat([]byte(letter), 66)); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", letter, err, want)
				}
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(context.Background())
		under, stop := context.WithCancel(context.Background())
		send(under, "a", context.Canceled)
		send(ctx, "b", context.Canceled)
		send(context.Background(), "c", nil)
		cancel() // b waits, and leaves at once
		synctest.Wait()
		g.open <- struct{}{}
		synctest.Wait()
		stop() // a has sent a frame, and waits
		synctest.Wait()
		close(g.open)
		done.Wait()
		if got := strings.Join(g.frames, ""); got != "accc" {
			t.Errorf("frames %s, want accc", got)
		}
		if err := m.Send(context.Background(), 0, []byte("d")); err != nil {
			t.Errorf("after cancels: %v", err)
		}
		if err := m.Send(ctx, 0, []byte("e")); !errors.Is(err, context.Canceled) {
			t.Errorf("with a dead context: %v", err)
		}
	})
}

// A message whose context ends between its frames stops there even if nobody else waits.
func TestMuxCancelAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		m := framers.NewMux(g, mustParse(t, "chunked:64"))
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error)
		go func() { result <- m.Send(ctx, 0, message(500)) }()
		synctest.Wait()
		cancel()
		g.open <- struct{}{}
		if err := <-result; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "after 1 frames") {
			t.Errorf("got %v", err)
		}
	})
}

func TestMuxQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		m := framers.NewMux(g, framers.NDJSON(), framers.WithQueue(2))
		ctx, cancel := context.WithCancel(context.Background())
		results := make(chan error, 3)
		for _, c := range []context.Context{context.Background(), context.Background(), ctx} {
			go func() { results <- m.Send(c, 0, []byte("x")) }()
			synctest.Wait()
		}
		cancel()
		err := <-results
		isFull := strings.Contains(err.Error(), "queue of 2 is full")
		if !errors.Is(err, context.Canceled) || !isFull {
			t.Errorf("the third: %v", err)
		}
		close(g.open)
		if err := errors.Join(<-results, <-results); err != nil {
			t.Error(err)
		}
	})
}

func TestMuxRefusesBeforeItWrites(t *testing.T) {
	rec := &recorder{}
	for _, spec := range []string{"chunked", "ndjson"} {
		m := framers.NewMux(rec, mustParse(t, spec), framers.WithMaxMessage(5))
		for msg, want := range map[string]error{"a\nb": framers.ErrNewline} {
			if err := m.Send(context.Background(), 0, []byte(msg)); !errors.Is(err, want) {
				t.Errorf("%s: %v", spec, err)
			}
		}
		var large *framers.TooLargeError
		if err := m.Send(context.Background(), 0, message(6)); !errors.As(err, &large) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if len(rec.calls) > 0 {
		t.Errorf("wrote %q", rec.calls)
	}
}

func TestMuxBreaksWithItsStream(t *testing.T) {
	full := errors.New("disk full")
	for _, spec := range []string{"chunked:64", "ndjson"} {
		m := framers.NewMux(&shortWriter{3, full}, mustParse(t, spec))
		for range 2 {
			if err := m.Send(context.Background(), 0, message(200)); !errors.Is(err, full) {
				t.Errorf("%s: %v", spec, err)
			}
		}
	}
}

func TestMuxIDsAreDrawnOneAtATime(t *testing.T) {
	n := byte(0)
	ids := func() [16]byte { n++; return [16]byte{n} } // a race if it is not
	var wire bytes.Buffer
	m := framers.NewMux(&wire, mustParse(t, "chunked"), framers.WithIDs(ids))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { m.Send(context.Background(), 0, []byte("x")) })
	}
	all.Wait()
	var got []string
	for id := range strings.Lines(wire.String()) {
		got = append(got, id[:2])
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != 20 {
		t.Errorf("ids %s", fmt.Sprint(got))
	}
}

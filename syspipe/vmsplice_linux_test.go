package syspipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// everyTransferIO runs f for each kind and io that can lend pages.
func everyTransferIO(t *testing.T, f func(t *testing.T, w, r *syspipe.End)) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.FIFO} {
		for _, how := range []syspipe.IO{syspipe.Blocking, syspipe.Poll, syspipe.Spin, syspipe.Sleep(time.Millisecond)} {
			t.Run(fmt.Sprintf("%s/%s", kind, how), func(t *testing.T) {
				w, r := open(t, kind, 0, how)
				f(t, w, r)
			})
		}
	}
}

func TestLentPagesArrive(t *testing.T) {
	everyTransferIO(t, func(t *testing.T, w, r *syspipe.End) {
		want := pattern(1<<20 + 4097)
		got := drain(r)
		within(t, "vmsplice", func() {
			if n, err := w.Vmsplice(want); n != len(want) || err != nil {
				t.Errorf("Vmsplice = %d, %v; want %d, nil", n, err, len(want))
			}
		})
		w.Close()
		if b := <-got; !bytes.Equal(b, want) {
			t.Errorf("read %d bytes that are not the %d lent", len(b), len(want))
		}
		if c := w.Counters(); c.Bytes != uint64(len(want)) {
			t.Errorf("%+v, want %d bytes", c, len(want))
		}
	})
}

func TestTransferToNobody(t *testing.T) {
	everyTransferIO(t, func(t *testing.T, w, r *syspipe.End) {
		r.Close()
		if n, err := w.Vmsplice([]byte("nobody listens")); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Vmsplice = %d, %v; want EPIPE", n, err)
		}
	})
}

func TestTransferAllocatesNothing(t *testing.T) {
	w, r := open(t, syspipe.Anonymous, 0, syspipe.Blocking)
	p := make([]byte, 4096)
	allocs := testing.AllocsPerRun(100, func() {
		w.Vmsplice(p)
		r.Read(p)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a Vmsplice and a Read", allocs)
	}
}

func TestTransferUnsupported(t *testing.T) {
	for name, row := range map[string]struct {
		kind syspipe.Kind
		io   syspipe.IO
	}{
		"socket pair": {syspipe.SocketPair, syspipe.Blocking},
		"poller":      {syspipe.Anonymous, syspipe.Poller},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := open(t, row.kind, 0, row.io)
			if _, err := w.Vmsplice([]byte("x")); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("Vmsplice: %v, want errors.ErrUnsupported", err)
			}
		})
	}
}

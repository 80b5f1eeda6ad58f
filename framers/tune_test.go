package framers_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// A drained writer takes bytes at a rate, on a clock of its own.
type drained struct {
	now       time.Time
	perSecond float64
	largest   int
}

func (d *drained) clock() time.Time { return d.now }

func (d *drained) Write(b []byte) (int, error) {
	d.now = d.now.Add(time.Duration(float64(len(b)) / d.perSecond * 1e9))
	d.largest = max(d.largest, len(b))
	return len(b), nil
}

func TestMuxFollowsTheRate(t *testing.T) {
	specs := []string{"chunked:1MiB", "adaptive:1MiB", "chunked+zstd:1MiB"}
	if testing.Short() {
		specs = specs[:1]
	}
	for _, spec := range specs {
		dst := &drained{perSecond: 20e6}
		m := framers.NewMux(dst, mustParse(t, spec), framers.WithWait(5*time.Millisecond), framers.WithClock(dst.clock))
		if got := m.FrameSize(); got != 1<<20 {
			t.Errorf("%s: begins with %d bytes", spec, got)
		}
		msg := message(2 << 20)
		for _, rate := range []float64{20e6, 2e6, 100e3, 100e9, 50e6} {
			dst.perSecond = rate
			for range 12 { // two frames each, at least: a rate is followed within ten
				if err := m.Send(context.Background(), 0, msg); err != nil {
					t.Fatal(err)
				}
			}
			want := min(max(rate*0.005, 1024), 1<<20)
			if got := float64(m.FrameSize()); got < 0.9*want || got > 1.1*want {
				t.Errorf("%s at %.0f bytes/s: frames of %.0f bytes, want about %.0f", spec, rate, got, want)
			}
		}
	}
}

func TestMuxWithoutAWaitKeepsItsSize(t *testing.T) {
	dst := &drained{perSecond: 1000}
	m := framers.NewMux(dst, mustParse(t, "chunked:4096"))
	if err := m.Send(context.Background(), 0, message(100_000)); err != nil {
		t.Fatal(err)
	}
	if m.FrameSize() != 4096 || dst.largest != 4096 {
		t.Errorf("frames of %d bytes, then of %d", dst.largest, m.FrameSize())
	}
	if got := framers.NewMux(dst, framers.NDJSON(), framers.WithWait(time.Second)).FrameSize(); got != 0 {
		t.Errorf("a framing that does not chunk: %d", got)
	}
}

// Lines that fit the framing's size stay lines, whatever the rate: the peer may know nothing of
// chunks.
func TestMuxTunedAdaptiveKeepsItsLines(t *testing.T) {
	dst := &drained{perSecond: 1e6}
	m := framers.NewMux(dst, mustParse(t, "adaptive:60KiB"), framers.WithWait(time.Millisecond), framers.WithClock(dst.clock))
	for range 3 {
		if err := m.Send(context.Background(), 0, bytes.Repeat([]byte("x"), 200_000)); err != nil {
			t.Fatal(err)
		}
	}
	dst.largest = 0
	if err := m.Send(context.Background(), 0, bytes.Repeat([]byte("x"), 50_000)); err != nil || dst.largest != 50_001 {
		t.Errorf("a line went out in pieces of %d bytes, %v", dst.largest, err)
	}
}

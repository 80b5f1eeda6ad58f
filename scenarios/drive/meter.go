package drive

import (
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A meter is a stream of the server's as we see it, counted so that another goroutine may look while a call is under way.
type meter struct {
	end   *syspipe.End
	bytes atomic.Int64
	calls atomic.Int64

	chunk int                           // bytes a write; 0 is all of them
	pause time.Duration                 // after each
	gate  atomic.Pointer[chan struct{}] // closed when reading may go on; nil where nothing holds it up
}

func (m *meter) Read(p []byte) (int, error) {
	if gate := m.gate.Load(); gate != nil {
		<-*gate
	}
	n, err := m.end.Read(p)
	m.count(int64(n))
	return n, err
}

func (m *meter) count(n int64) {
	m.bytes.Add(n)
	m.calls.Add(1)
}

// Write gives p to the server in the pieces that were asked for. The bytes are counted piece by piece.
func (m *meter) Write(p []byte) (int, error) {
	size := m.chunk
	if size <= 0 {
		size = len(p)
	}
	done := 0
	for done < len(p) {
		n, err := m.end.Write(p[done:min(done+size, len(p))])
		m.count(int64(n))
		done += n
		if err != nil {
			return done, err
		}
		if m.pause > 0 && done < len(p) {
			time.Sleep(m.pause)
		}
	}
	return done, nil
}

// A whole is a meter whose writes need not be cut: a framing then sends header, message and terminator in one gather call.
type whole struct{ *meter }

func (w whole) Writev(bufs [][]byte) (int64, error) {
	n, err := w.end.Writev(bufs)
	w.count(n)
	return n, err
}

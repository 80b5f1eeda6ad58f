package syspipe

import "io"

// A Direct is the shortest way to the system calls of a blocking end: one call, inlined where it
// stands, no look at whether the end was closed, no second try. It exists because the kernel
// empties the processor's return predictor when it switches tasks, so that after each call that
// waited every layer above it returns by a wrong guess: a round trip of one byte between two
// processes took 5 % longer through [End.Read] and [End.Write].
//
// A call that did less than it was asked leaves the rest to the End, which meets the cause again
// and tells it. The caller counts, and hands the account over:
//
//	d, ok := e.Direct()
//	n := d.Write(p)
//	if n == len(p) {
//		d.Count(n)
//	} else {
//		err = e.WriteRest(p, n)
//	}
//	e.SettleWrites(&d)
//
// It belongs to the goroutine that reads and writes, and nobody may close the end meanwhile.
type Direct struct {
	fd           uintptr
	calls, bytes uint64
}

// Count notes a call that moved all of the n bytes that it was asked to.
func (d *Direct) Count(n int) {
	d.calls++
	d.bytes += uint64(n)
}

// AddWrites adds to the end's counters the writes that d has counted.
func (e *End) AddWrites(d *Direct) { e.out.addDirect(d) }

// AddReads adds to the end's counters the reads that d has counted.
func (e *End) AddReads(d *Direct) { e.in.addDirect(d) }

func (m *counter) addDirect(d *Direct) {
	m.calls += d.calls
	m.bytes += d.bytes
	d.calls, d.bytes = 0, 0
}

// WriteRest goes on where a direct write of p came to n bytes, or failed, which a negative n says.
func (e *End) WriteRest(p []byte, n int) error {
	if n > 0 {
		e.out.moved(len(p), n)
	}
	_, err := e.Write(p[max(n, 0):])
	return err
}

// ReadRest fills p from where a direct read came to n bytes, or failed, which a negative n says, or
// met the end, which 0 does.
func (e *End) ReadRest(p []byte, n int) error {
	if n > 0 {
		e.in.moved(len(p), n)
	}
	_, err := io.ReadFull(e, p[max(n, 0):])
	return err
}

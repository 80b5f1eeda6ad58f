package tap

import "github.com/pipebench/pipebench/scenarios/jsonrpc"

// A message is what is known of one when its last byte has passed.
type message struct {
	at      int64 // when its last byte had been passed on, in ns since the recording began
	first   int64 // when its first byte was
	size    int64
	cuts    []int64 // bytes of it that each read brought
	when    []int64 // when each was passed on
	stalled int64   // ns that passing it on took
	body    []byte
	last    byte

	id, method []byte // raw JSON; without its quotes. Empty where there is none
	known      bool   // they are, and nothing more is to be found out
	begin      []byte // the opening, where reads cut it
	scanner    jsonrpc.Scanner
	scanned    bool // it has seen some of the message
}

// mostCuts bounds how many cuts are recorded of a message. What came later is added to the last.
const mostCuts = 4096

// scan goes through the next bytes, as far as there is something to find out.
func (m *message) scan(p []byte) {
	if m.size < opening {
		n := min(len(p), opening-int(m.size))
		if n < opening {
			m.begin = append(m.begin, p[:n]...)
			if len(m.begin) < opening {
				return
			}
			m.open(m.begin)
		} else {
			m.open(p[:n])
		}
		p = p[n:]
	}
	if !m.known {
		m.scanner.Write(p)
	}
}

// open takes the opening.
func (m *message) open(p []byte) {
	id, method, ok := told(p)
	if !ok {
		m.scanned = true
		m.scanner.Write(p)
		e := m.scanner.Envelope()
		id, method = e.ID, e.Method
		ok = len(id) > 0 && (len(method) > 0 || e.Result || e.Error)
	}
	if ok {
		m.keep(id, method)
	}
}

func (m *message) keep(id, method []byte) {
	m.known = true
	m.id, m.method = append(m.id[:0], id...), append(m.method[:0], method...)
}

// end takes the end of the message.
func (m *message) end() {
	if len(m.begin) > 0 && len(m.begin) < opening {
		m.open(m.begin)
	}
	if e := m.scanner.Envelope(); !m.known && e.Whole {
		m.keep(e.ID, e.Method)
	}
}

// reset makes ready for the next message. The slices stay: they are bounded.
func (m *message) reset() {
	if m.scanned {
		m.scanner.Reset()
	}
	m.size, m.stalled, m.last, m.known, m.scanned = 0, 0, 0, false, false
	m.cuts, m.when, m.body = m.cuts[:0], m.when[:0], m.body[:0]
	m.id, m.method, m.begin = m.id[:0], m.method[:0], m.begin[:0]
}

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
	prefix     []byte // the opening, where reads cut it
	scanner    jsonrpc.Scanner
	scanned    bool // it has seen some of the message
}

// maxCuts bounds how many cuts are recorded of a message. What came later is added to the last.
const maxCuts = 4096

// scan goes through the next bytes, as far as there is something to find out.
func (m *message) scan(p []byte) {
	if m.size < prefixBytes {
		n := min(len(p), prefixBytes-int(m.size))
		if n < prefixBytes {
			m.prefix = append(m.prefix, p[:n]...)
			if len(m.prefix) < prefixBytes {
				return
			}
			m.scanPrefix(m.prefix)
		} else {
			m.scanPrefix(p[:n])
		}
		p = p[n:]
	}
	if !m.known {
		m.scanner.Write(p)
	}
}

// scanPrefix takes the opening.
func (m *message) scanPrefix(p []byte) {
	id, method, ok := fastParse(p)
	if !ok {
		m.scanned = true
		m.scanner.Write(p)
		e := m.scanner.Envelope()
		id, method = e.ID, e.Method
		ok = len(id) > 0 && (len(method) > 0 || e.Result || e.Error)
	}
	if ok {
		m.setFound(id, method)
	}
}

func (m *message) setFound(id, method []byte) {
	m.known = true
	m.id, m.method = append(m.id[:0], id...), append(m.method[:0], method...)
}

// end takes the end of the message.
func (m *message) end() {
	if len(m.prefix) > 0 && len(m.prefix) < prefixBytes {
		m.scanPrefix(m.prefix)
	}
	if e := m.scanner.Envelope(); !m.known && e.Whole {
		m.setFound(e.ID, e.Method)
	}
}

// reset makes ready for the next message. The slices stay: they are bounded.
func (m *message) reset() {
	if m.scanned {
		m.scanner.Reset()
	}
	m.size, m.stalled, m.last, m.known, m.scanned = 0, 0, 0, false, false
	m.cuts, m.when, m.body = m.cuts[:0], m.when[:0], m.body[:0]
	m.id, m.method, m.prefix = m.id[:0], m.method[:0], m.prefix[:0]
}

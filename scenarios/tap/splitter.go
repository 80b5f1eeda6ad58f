package tap

import (
	"bytes"
	"strconv"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

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
	failed     bool   // it answers by an error
	prefix     []byte // the first bytes, where reads cut them
	scanner    jsonrpc.Scanner
	scanned    bool // it has seen some of the message
}

// maxCuts bounds how many cuts are recorded of a message. What came later is added to the last.
const maxCuts = 4096

// prefixBytes bounds the prefix of a message that is read first, in bytes. Most messages have their
// id and method there, and the rest of those is only counted: that saves half of the work for a
// message of 1 KiB, two thirds for a large one. The prefix is collected where reads cut it, so that
// the record does not depend on how a message was cut.
const prefixBytes = 256

// scan reads the next bytes, until id and method are known.
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

// scanPrefix reads the first bytes.
func (m *message) scanPrefix(p []byte) {
	id, method, failed, ok := jsonrpc.Peek(p)
	if !ok {
		m.scanned = true
		m.scanner.Write(p)
		e := m.scanner.Envelope()
		id, method, failed = e.ID, e.Method, e.Error
		ok = len(id) > 0 && (len(method) > 0 || e.Result || e.Error)
	}
	if ok {
		m.setFound(id, method, failed)
	}
}

func (m *message) setFound(id, method []byte, failed bool) {
	m.known, m.failed = true, failed && len(method) == 0
	m.id, m.method = append(m.id[:0], id...), append(m.method[:0], method...)
}

// end takes the end of the message.
func (m *message) end() {
	if len(m.prefix) > 0 && len(m.prefix) < prefixBytes {
		m.scanPrefix(m.prefix)
	}
	if m.known {
		return
	}
	if e := m.scanner.Envelope(); e.Whole {
		m.setFound(e.ID, e.Method, e.Error)
	}
}

// reset makes ready for the next message. The slices stay: they are bounded.
func (m *message) reset() {
	if m.scanned {
		m.scanner.Reset()
	}
	m.size, m.stalled, m.last, m.known, m.failed, m.scanned = 0, 0, 0, false, false, false
	m.cuts, m.when, m.body = m.cuts[:0], m.when[:0], m.body[:0]
	m.id, m.method, m.prefix = m.id[:0], m.method[:0], m.prefix[:0]
}

// A splitter finds the messages in a stream that it sees go by, and holds next to nothing of them.
type splitter struct {
	framing framing
	message message

	line     []byte // of a header, or of the beginning of a stream of which nothing is known
	overlong bool   // the line is no header's
	length   int64  // bytes of a body that are still to come; -1 in a header
	next     int64  // the Content-Length of the header so far, -1 if none

	keep int // bytes of a body to keep, at most
	emit func(m *message)
}

type framing uint8

const (
	unknown framing = iota
	byLines
	byHeaders
)

// maxHeader bounds what is held of a header's line, in bytes. A longer line is taken for no header.
const maxHeader = 8 << 10

// A readEvent is one read that was passed on: when, and how long the other side took to take it.
type readEvent struct{ at, stalled int64 }

// feed takes the next bytes of the stream.
func (s *splitter) feed(p []byte, when readEvent) {
	for len(p) > 0 {
		switch s.framing {
		case unknown:
			p = s.detect(p, when)
		case byLines:
			p = s.lineBytes(p, when)
		case byHeaders:
			if s.length < 0 {
				p = s.headerBytes(p, when)
				break
			}
			n := int(min(int64(len(p)), s.length))
			s.add(p[:n], when)
			p = p[n:]
			if s.length -= int64(n); s.length == 0 {
				s.finish(when)
				s.length = -1
			}
		}
	}
}

var contentPrefix = []byte("content-")

// detect waits until the first bytes tell how messages are framed.
func (s *splitter) detect(p []byte, when readEvent) []byte {
	n := min(len(p), len(contentPrefix)-len(s.line))
	s.line = append(s.line, p[:n]...)
	lower := bytes.ToLower(s.line)
	switch {
	case !bytes.HasPrefix(contentPrefix, lower):
		s.framing = byLines
	case len(lower) < len(contentPrefix):
		return p[n:]
	default:
		s.framing = byHeaders
		s.length, s.next = -1, -1
	}
	held := s.line
	s.line = nil
	s.feed(held, when) // what of it came in earlier reads is a cut of this one
	return p[n:]
}

func (s *splitter) lineBytes(p []byte, when readEvent) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		s.add(p, when)
		return nil
	}
	s.add(p[:end], when)
	if s.message.last == '\r' {
		s.message.size--
	}
	if s.message.size > 0 {
		s.finish(when)
	} else {
		s.message.reset()
	}
	return p[end+1:]
}

func (s *splitter) headerBytes(p []byte, when readEvent) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		s.holdHeader(p)
		return nil
	}
	s.holdHeader(p[:end])
	if !s.overlong {
		s.header(bytes.TrimSpace(s.line), when)
	}
	s.line, s.overlong = s.line[:0], false
	return p[end+1:]
}

// holdHeader keeps what may be a line of a header.
func (s *splitter) holdHeader(p []byte) {
	if s.overlong = s.overlong || len(s.line)+len(p) > maxHeader; !s.overlong {
		s.line = append(s.line, p...)
	}
}

// header takes a line of a header.
func (s *splitter) header(line []byte, when readEvent) {
	if len(line) > 0 {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("content-length")) {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil && n >= 0 {
				s.next = n
			}
		}
		return
	}
	if s.next < 0 {
		return // a blank line, or a header without a length: the next line may begin one
	}
	s.length, s.next = s.next, -1
	if s.length == 0 {
		s.finish(when)
		s.length = -1
	}
}

// add takes bytes of the message under way.
func (s *splitter) add(p []byte, when readEvent) {
	if len(p) == 0 {
		return
	}
	m := &s.message
	if len(m.cuts) == 0 {
		m.first = when.at
	}
	switch n := len(m.cuts); {
	case n > 0 && (m.when[n-1] == when.at || n == maxCuts):
		m.cuts[n-1] += int64(len(p))
	default:
		m.cuts, m.when = append(m.cuts, int64(len(p))), append(m.when, when.at)
		m.stalled += when.stalled
	}
	m.scan(p)
	m.size += int64(len(p))
	m.last = p[len(p)-1]
	if room := s.keep - len(m.body); room > 0 {
		m.body = append(m.body, p[:min(len(p), room)]...)
	}
}

// finish hands the message on and makes ready for the next.
func (s *splitter) finish(when readEvent) {
	s.message.at = when.at
	s.message.end()
	if len(s.message.cuts) == 0 { // it has no bytes
		s.message.first = when.at
	}
	s.emit(&s.message)
	s.message.reset()
}

// close takes the end of the stream: a last line needs no newline.
func (s *splitter) close(when readEvent) {
	if s.framing == unknown && len(s.line) > 0 {
		held := s.line
		s.framing, s.line = byLines, nil
		s.feed(held, when)
	}
	if s.framing == byLines && len(s.message.cuts) > 0 {
		s.finish(when)
	}
}

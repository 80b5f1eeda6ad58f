package drive

import (
	"context"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// lines is the dialect of a filter: a line is answered by a line, the same one (cat) or another.
type lines struct {
	wire   framers.Framing
	echoes bool
}

func (l *lines) String() string {
	if l.echoes {
		return "lines"
	}
	return "lines (answers with others)"
}

func (l *lines) framing() framers.Framing { return l.wire }

// greet finds nothing out: a line that is not answered is the first request's finding.
func (l *lines) greet(context.Context, *conn, time.Duration) error { return nil }
func (l *lines) answer() answerer                                  { return nil }

func (l *lines) request(_ ask, size int) (*shape, error) {
	s, err := newShape("", "", size, int64(size))
	if err != nil {
		return nil, err
	}
	s.echoes = l.echoes
	return s, nil
}

// compares is nil: that an echo is one was seen in the handshake, or is what was asked for.
func (l *lines) compares() *bool { return nil }

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
)

// answer finishes r: it sends msg, unless the client has cancelled r.
func (s *Server) answer(r *request, msg []byte) error {
	wanted := s.pending.release(r)
	msg, done := s.fault.reply(r, msg)
	began := time.Now()
	var err error
	if wanted {
		err = s.send(msg)
	}
	done()
	s.pending.finish(err == nil)
	if wanted && err == nil {
		s.chunks.Sent(msg, began)
	}
	s.inFlight.Release(r.weight)
	s.answers.Release(r.bytes)
	if err != nil && s.failed.Err() == nil {
		s.log.Warn("Output failed", "error", err)
		s.fail(err)
	}
	return err
}

// send sends a message to the client. It sends nothing after the output has failed or abort was
// called.
func (s *Server) send(msg []byte) error {
	if s.failed.Err() != nil {
		return context.Cause(s.failed)
	}
	priority := 0
	isOneFrame := countFrames(s.opts.Framing, msg, 2) == 1 // counting to 2 is enough to tell
	if isOneFrame {
		priority = 1 // goes before the remaining frames of a large answer
	}
	err := s.mux.Send(context.Background(), priority, msg)
	if err == nil {
		s.record("reply", msg)
	}
	return err
}

// countFrames counts the frames of a message, but stops at the number most. It returns 0 if the
// framing does not split messages into frames.
func countFrames(f framers.Framing, msg []byte, most int) int {
	n := 0
	chunker, ok := f.(framers.Chunker)
	if !ok {
		return 0
	}
	for range chunker.Frames(msg) {
		n++
		if n == most {
			break
		}
	}
	return n
}

// A ChunkLog logs each message that goes in several chunks, at debug level and without its content.
type ChunkLog struct {
	Logger  *slog.Logger
	Framing framers.Framing // of the messages that are sent
}

// Received logs a message when its last chunk has come. Give this method to [framers.WithProgress].
func (l ChunkLog) Received(c framers.Chunk) {
	if c.Total > 1 && c.Received == c.Total {
		took := time.Since(c.Began)
		l.Logger.Debug("Chunked message received", "bytes", c.Size, "frames", c.Total, "took", took)
	}
}

// Sent logs a message if it has several frames. began is when the writing of the message began.
func (l ChunkLog) Sent(msg []byte, began time.Time) {
	if !l.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	took := time.Since(began)
	n := countFrames(l.Framing, msg, math.MaxInt)
	if n > 1 {
		l.Logger.Debug("Chunked message sent", "bytes", len(msg), "frames", n, "took", took)
	}
}

// maxRecorded is the largest message that is recorded with its body, in bytes.
const maxRecorded = 8 << 10

// record records a message that was read (dir "request") or written (dir "reply").
func (s *Server) record(dir string, msg []byte) {
	if s.opts.Record == nil {
		return
	}
	m := results.Message{
		Kind: results.KindMessage, Run: s.opts.Run, Dir: dir,
		T: int64(time.Since(s.began)), Size: int64(len(msg)),
	}
	parsed, err := jsonrpc.Parse(bytes.Clone(msg))
	if err == nil {
		m.Method = parsed.Method
		m.ID = json.RawMessage(parsed.ID)
		m.Error = parsed.Failure != nil
	}
	if len(msg) <= maxRecorded {
		m.Body = string(msg)
	}
	_ = s.keep(m) // if this fails, recordEnd fails too, and logs its error
}

// keep writes a line of the recording.
func (s *Server) keep(l results.Line) error {
	s.recording.Lock()
	defer s.recording.Unlock()
	return s.opts.Record.Write(l)
}

// closedByPeer reports whether err is the error of a write to a client that has left.
func closedByPeer(err error) bool {
	return syspipe.ReaderLeft(err) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed)
}

// maxErrorText is the most bytes of a client's text that the message of an error repeats.
const maxErrorText = 256

// clip shortens a text from the client, which may be of any length. It cuts between characters.
func clip(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return strings.ToValidUTF8(s[:maxErrorText], "") + "..."
}

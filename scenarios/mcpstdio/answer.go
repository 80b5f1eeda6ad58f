package mcpstdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// respond sends what the SDK answered.
func (s *Server) respond(m *sdk.Response) error {
	n, err := number(m.ID)
	if err != nil {
		return err
	}
	r := s.pending.find(n)
	if r == nil {
		return fmt.Errorf("answer to request %d, which is not in flight", n)
	}
	if m.Error != nil {
		return s.answer(r, jsonrpc.AppendError(nil, r.id, s.wireError(r, m.Error)))
	}
	return s.answer(r, jsonrpc.AppendResult(nil, r.id, m.Result))
}

// answer sends msg, which settles r.
func (s *Server) answer(r *request, msg []byte) error {
	s.pending.release(r)
	msg, done := s.fault.reply(r, msg)
	err := s.mux.Send(context.Background(), 0, msg)
	done()
	s.pending.finish(err == nil)
	<-s.slots
	if err != nil {
		s.failOutput(err)
	}
	return err
}

// failOutput notes that the output has failed: nothing can be answered any more.
func (s *Server) failOutput(err error) {
	s.outputOnce.Do(func() {
		s.log.Warn("Output failed", "error", err)
		if !closedByPeer(err) && s.State() == Running {
			s.outputErr = fmt.Errorf("write answer: %w", err)
		}
		close(s.outputFailed)
	})
}

// closedByPeer reports whether err is how a client that leaves looks.
func closedByPeer(err error) bool {
	for _, gone := range []error{syscall.EPIPE, io.ErrClosedPipe, os.ErrClosed, net.ErrClosed} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

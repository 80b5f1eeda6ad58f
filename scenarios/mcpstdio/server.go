package mcpstdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
)

// A Server answers MCP requests that come on one stream with answers on another.
type Server struct {
	opts Options
	in   io.Reader
	out  io.Writer
	log  *slog.Logger
	sdk  *mcp.Server
	mux  *framers.Mux

	stop         chan struct{} // closed by Stop
	stopOnce     sync.Once
	drained      chan struct{} // closed when nothing more is to be answered: ends the SDK's sessions
	stopped      chan struct{} // closed when all is over
	slots        chan struct{} // one for each request read and not answered
	outputFailed chan struct{} // closed when the output has failed
	outputOnce   sync.Once
	outputErr    error         // why; set before hung is closed
	aborted      chan struct{} // closed when a fault ends the server in the middle
	abortOnce    sync.Once
	abortErr     error // what the server then ends with; set before gone is closed
	fault        *faultInjector

	queued        chan queuedAnswer // answers of a recording, on their way out
	preInit, main *session          // lobby: nil if requests must wait for initialize
	initSeen      bool              // initialize has come; the intake's alone
	sessions      sync.WaitGroup

	pending pendingTable
	err     error // of Wait; set before stopped is closed
}

// NewServer returns a server of opts.Tools that is not started yet. It closes neither in nor out. Where they have deadlines (as
// pipes of os.Pipe and network connections do), it uses them to end a read or a write that blocks.
func NewServer(in io.Reader, out io.Writer, opts Options) (*Server, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s := &Server{
		opts: opts, in: in, out: out, log: opts.Logger,
		stop:         make(chan struct{}),
		drained:      make(chan struct{}),
		stopped:      make(chan struct{}),
		outputFailed: make(chan struct{}),
		aborted:      make(chan struct{}),
		slots:        make(chan struct{}, opts.MaxInFlight),
		queued:       make(chan queuedAnswer, opts.MaxInFlight),
	}
	s.fault = newFaultInjector(s, opts.Fault)
	s.pending.init()
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.sdk.AddReceivingMiddleware(s.offerFrameSize)
	for _, t := range opts.Tools {
		if err := s.register(t); err != nil {
			return nil, fmt.Errorf("new server: %w", err)
		}
	}
	return s, nil
}

// Start begins to serve and returns. The server ends as by Stop when ctx does.
func (s *Server) Start(ctx context.Context) error {
	if !s.pending.advance(Created, Running) {
		return errors.New("start server: it was started before")
	}
	s.mux = framers.NewMux(s.fault.output(s.out), s.opts.Framing)
	var err error
	if s.main, err = s.connect(ctx, nil); err == nil && !s.opts.StrictLifecycle {
		s.preInit, err = s.connect(ctx, &mcp.ServerSessionState{InitializeParams: &mcp.InitializeParams{}})
	}
	if err != nil {
		s.pending.advance(Running, Stopped)
		close(s.drained)
		close(s.stopped)
		return fmt.Errorf("start server: %w", err)
	}
	s.sessions.Add(1)
	go s.writeLoop()
	go s.supervise(ctx)
	return nil
}

// State returns where the server is in its life.
func (s *Server) State() State { return s.pending.current() }

// Stop has the server read no more and end as at the end of its input. It returns at once; Wait waits.
func (s *Server) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

// Wait returns when the server, which has been started, is over: nil after the end of its input, Stop, and a client that closed the output; else why it
// could not go on reading or writing.
func (s *Server) Wait() error {
	<-s.stopped
	return s.err
}

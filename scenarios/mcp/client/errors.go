package client

import (
	"errors"
	"fmt"
)

// ErrClosed is returned for requests to a connection that was closed or has given up its server.
var ErrClosed = errors.New("connection is closed")

const (
	ReasonStart     = "start_failed"
	ReasonHandshake = "handshake_failed"
	ReasonOversized = "oversized_frame"
	ReasonGone      = "server_gone"
	ReasonNoise     = "too_much_noise"
	ReasonClosed    = "closed"
)

// A TransportError is returned for a request that was in flight when the server was lost. The
// server may have carried the request out.
type TransportError struct {
	Reason string // one of the Reason constants
	Err    error
}

func (e *TransportError) Error() string { return fmt.Sprintf("lost the server: %v", e.Err) }
func (e *TransportError) Unwrap() error { return e.Err }

// A FrameError says that a frame is larger than the limit.
type FrameError struct {
	Size  int64 // bytes that the frame declares, or those that had come so far
	Limit int64 // bytes
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("frame of %d bytes or more exceeds the limit of %d: "+
		"ask for less, or raise the limit", e.Size, e.Limit)
}

// A Violation tells of a frame that is larger than the limit.
type Violation struct {
	FrameSize int64  `json:"frame_size"` // bytes, as in FrameError
	Max       int64  `json:"max"`        // bytes
	Reason    string `json:"reason"`     // ReasonOversized
}

//go:build !linux && !darwin && !freebsd && !windows

package syspipe

import (
	"os"
	"os/exec"
)

// No kind of pipe and no io is supported here, so that no End ever comes to be; the methods exist to let programs build.

var (
	supportedKinds []Kind
	supportedModes []mode
)

type descriptor struct{}

func open(kind Kind, _ int) (w, r *End, err error) { return nil, nil, kind.Supported() }

// OpenFIFO returns an error that wraps [errors.ErrUnsupported].
func OpenFIFO(path string) (w, r *End, err error) { return nil, nil, unsupported("open fifo " + path) }

func inherited(_ uint64, kind Kind, _ direction) (*End, error) { return nil, kind.Supported() }

// Pass returns an error that wraps [errors.ErrUnsupported].
func (e *End) Pass(*exec.Cmd) (ref string, err error) { return "", unsupported("pass an end") }

func (e *End) duplicate() (*os.File, error)   { return nil, unsupported("pipes") }
func (e *End) setIO(IO) error                 { return unsupported("pipes") }
func (e *End) seen() Fields                   { return 0 }
func (e *End) read([]byte) (int, error)       { return 0, unsupported("pipes") }
func (e *End) write([]byte) (int, error)      { return 0, unsupported("pipes") }
func (e *End) writev([][]byte) (int64, error) { return 0, unsupported("pipes") }
func (e *End) deadlines() (*os.File, error)   { return nil, os.ErrNoDeadline }
func (e *End) shut() error                    { return nil }
func (e *End) dropPassed() error              { return nil }
func (e *End) capacity() (int, error)         { return 0, unsupported("pipes") }
func (e *End) setCapacity(int) error          { return unsupported("pipes") }
func (e *End) buffered() (int, error)         { return 0, unsupported("pipes") }

func (e *End) onceWrite([]byte) (int, error) { return 0, unsupported("pipes") }
func (e *End) onceRead([]byte) (int, error)  { return 0, unsupported("pipes") }
func (e *End) pollNow(bool) (bool, error)    { return false, unsupported("pipes") }

// A Stream is what a file is when it serves as a standard stream.
type Stream struct {
	Kind        string `json:"kind"`
	NonBlocking bool   `json:"non_blocking"`
	Capacity    int    `json:"capacity"`
}

// Describe returns an error that wraps [errors.ErrUnsupported].
func Describe(*os.File) (Stream, error) { return Stream{}, unsupported("describe a stream") }

package syspipe

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An IO is how an end waits when the kernel cannot serve it yet. A positive IO, made by [Sleep], is
// a pause between two tries, in nanoseconds.
type IO int64

const (
	// Poller leaves the waiting to Go's network poller, as every os.File that is a pipe does.
	Poller IO = -iota
	// Blocking waits inside the kernel, as a C program does. The caller must lock its OS thread;
	// see the package comment for the price.
	Blocking
	// Poll waits in poll(2) when a non-blocking call cannot go on.
	Poll
	// Spin repeats the non-blocking call at once.
	Spin
)

// DefaultPause is the pause between two tries if a user asks for the IO "sleep" without a duration.
const DefaultPause = 10 * time.Millisecond

// Sleep returns the IO that pauses for d between two tries, or [Spin] if d is zero or less.
func Sleep(d time.Duration) IO {
	if d <= 0 {
		return Spin
	}
	return IO(d)
}

// Pause returns how long an end with this IO sleeps between two tries, or 0 if it does not sleep.
func (io IO) Pause() time.Duration { return max(0, time.Duration(io)) }

// IOs returns every way to wait, always in the same order. [Sleep] comes once, with [DefaultPause].
func IOs() []IO { return []IO{Poller, Blocking, Poll, Spin, Sleep(DefaultPause)} }

// String returns what ParseIO reads: "poller", "blocking", "poll", "spin", "sleep=10ms".
func (io IO) String() string {
	switch io {
	case Poller:
		return "poller"
	case Blocking:
		return "blocking"
	case Poll:
		return "poll"
	case Spin:
		return "spin"
	}
	return "sleep=" + io.Pause().String()
}

// ParseIO reads the name of a way to wait. "sleep" alone pauses for [DefaultPause].
func ParseIO(name string) (IO, error) {
	if pause, ok := strings.CutPrefix(name, "sleep="); ok {
		d, err := time.ParseDuration(pause)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("io sleep=%s: want a duration above zero, as in sleep=10ms", pause)
		}
		return Sleep(d), nil
	}
	if name == "sleep" {
		return Sleep(DefaultPause), nil
	}
	for _, io := range IOs() {
		if io.String() == name {
			return io, nil
		}
	}
	return 0, fmt.Errorf("unknown io %q (known: %s)", name, joinNames(IOs()))
}

// Supported returns nil if this system has this way of waiting, at least for some kinds of pipe.
// Otherwise the error wraps [errors.ErrUnsupported].
func (io IO) Supported() error {
	if io.Pause() > 0 || slices.Contains(supportedIOs, io) {
		return nil
	}
	return unsupported("io " + io.String())
}

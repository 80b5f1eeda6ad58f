package syspipe

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Kind is a sort of pipe that an operating system offers.
type Kind string

const (
	// Anonymous is pipe(2), or CreatePipe on Windows: what a shell's | and os/exec use.
	Anonymous Kind = "anonymous"
	// FIFO is a pipe with a name in the file system. Open removes the name once both ends are open.
	FIFO Kind = "fifo"
	// SocketPair is socketpair(AF_UNIX, SOCK_STREAM), with two directions: what Node.js gives its
	// children as standard streams.
	SocketPair Kind = "socketpair"
	// Named is a named pipe of Windows. Deadlines and Go's poller work with it.
	Named Kind = "named"
	// PTY is a pseudo-terminal that passes bytes on unchanged, from a program that runs in it to
	// the program that shows it. This package has it only on Linux.
	PTY Kind = "pty"
)

// Kinds returns every kind that this package knows, even a kind that this system does not have.
func Kinds() []Kind { return append(StreamKinds(), PTY) }

// StreamKinds returns the kinds that programs can get as standard streams, except terminals.
func StreamKinds() []Kind { return []Kind{Anonymous, FIFO, SocketPair, Named} }

// IsPipe reports whether the kind is a pipe and not a socket pair or a terminal.
func (k Kind) IsPipe() bool { return k == Anonymous || k == FIFO || k == Named }

// Supported returns nil if this operating system has the kind. If another system has it, the error
// wraps [errors.ErrUnsupported].
func (k Kind) Supported() error {
	if slices.Contains(supportedKinds, k) {
		return nil
	}
	if _, err := ParseKind(string(k)); err != nil {
		return err
	}
	return unsupported("pipe kind " + string(k))
}

// ParseKind returns the kind of that name. It need not be one that this system supports.
func ParseKind(name string) (Kind, error) {
	if slices.Contains(Kinds(), Kind(name)) {
		return Kind(name), nil
	}
	return "", fmt.Errorf("unknown pipe kind %q (known: %s)", name, joinNames(Kinds()))
}

// noun returns the name of the kind for use in a sentence, such as "anonymous pipe".
func (k Kind) noun() string {
	switch k {
	case Anonymous:
		return "anonymous pipe"
	case Named:
		return "named pipe"
	case SocketPair:
		return "socket pair"
	case PTY:
		return "pseudo-terminal"
	case "":
		return "pipe"
	}
	return string(k)
}

func joinNames[T any](list []T) string {
	var words []string
	for _, v := range list {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ", ")
}

// System names the system whose rules pipes follow here: [runtime.GOOS], or "gvisor" if the kernel
// is gVisor, which claims to be Linux.
func System() string {
	version, err := os.ReadFile("/proc/version")
	if err == nil && IsGVisor(string(version)) {
		return "gvisor"
	}
	return runtime.GOOS
}

// IsGVisor reports whether a text is gVisor's /proc/version, the same in all of its releases.
func IsGVisor(version string) bool {
	return strings.Contains(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016")
}

// ReadLimit returns the number in a file such as /proc/sys/fs/pipe-max-size, in which Linux states
// a limit for pipes.
func ReadLimit(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

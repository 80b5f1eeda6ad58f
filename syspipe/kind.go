package syspipe

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is a sort of pipe that an operating system offers.
type Kind string

const (
	// Anonymous is pipe(2), or CreatePipe on Windows: what a shell's | and os/exec use.
	Anonymous Kind = "anonymous"
	// FIFO is a pipe with a name in the file system. Open makes it in a private folder and removes the name once both ends are open.
	FIFO Kind = "fifo"
	// SocketPair is socketpair(AF_UNIX, SOCK_STREAM): what Node.js gives its children as standard streams. It has two directions.
	SocketPair Kind = "socketpair"
	// Named is a Windows named pipe opened for overlapped operation, so that deadlines and Go's poller work on it.
	Named Kind = "named"
)

// Kinds returns every kind that pipebench knows, on any system, always in the same order.
func Kinds() []Kind { return []Kind{Anonymous, FIFO, SocketPair, Named} }

// Supported returns nil where this operating system has the kind, else an error that wraps [errors.ErrUnsupported] and names the system.
func (k Kind) Supported() error {
	if slices.Contains(supportedKinds, k) {
		return nil
	}
	return unsupported(fmt.Sprintf("pipe kind %s", k))
}

// ParseKind returns the kind of that name. It need not be one that this system supports.
func ParseKind(name string) (Kind, error) {
	if k := Kind(name); slices.Contains(Kinds(), k) {
		return k, nil
	}
	return "", fmt.Errorf("unknown pipe kind %q (known: %s)", name, joined(Kinds()))
}

// noun names the kind in the middle of a sentence.
func (k Kind) noun() string {
	switch k {
	case Anonymous, Named:
		return string(k) + " pipe"
	case SocketPair:
		return "socket pair"
	}
	return string(k)
}

func joined[T any](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

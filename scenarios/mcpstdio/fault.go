package mcpstdio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Fault is a way in which a server misbehaves. Its spec is a kind, and where the kind takes one a size in bytes:
//
//	deaf@1MiB    messages up to 1 MiB are served; the first larger one triggers the fault
//	trickle=16B  a quantity of the fault itself
//	reorder      takes none
//
// Sizes are of the message, its terminator not counted. The zero Fault is none.
type Fault struct {
	Kind  string // one of Faults
	Bytes int64  // threshold or quantity
}

// A FaultKind describes one kind of Fault.
type FaultKind struct {
	Name    string
	Sign    byte  // '@' before a threshold, '=' before a quantity, 0 where there is neither
	Default int64 // bytes, where a spec gives none
	Does    string
	Seen    string // where servers were seen to do so
}

var faultKinds = []FaultKind{
	{"deaf", '@', 1 << 20, "reads on but never answers again once a message is larger", "a reader's cap whose error nobody handles (MCP TypeScript SDK 1.32)"},
	{"exit0", '@', 1 << 20, "exits with code 0 and no word once a message is larger", "an end of input taken for a goodbye (MCP TypeScript SDK 1.32)"},
	{"error", '@', 1 << 20, "answers a larger message with a JSON-RPC error and goes on", "servers that check their limit"},
	{"limit", '@', 1 << 20, "exits with code 1 and names the limit on stderr once a message is larger", "bufio.Scanner's token too long, asyncio's LimitOverrunError"},
	{"never-read", '@', 0, "reads no more once a message is larger; by default, after the handshake", "a writer and a reader that wait for each other"},
	{"dirty", 0, 0, "writes log lines, blank lines and other JSON to stdout between answers", "print in a server, or a dependency that logs"},
	{"split-utf8", '=', 4096, "decodes its input in pieces of so many bytes, so that a character cut in two becomes U+FFFD", "chunk.toString() for each chunk"},
	{"trickle", '=', 16, "writes its answers so many bytes at a time", "unbuffered output"},
	{"stderr-flood", '=', 64 << 10, "writes so many bytes to stderr before each answer", "servers that log what they are asked"},
	{"reorder", 0, 0, "answers requests that come together in the reverse order", "servers with several threads"},
	{"corrupt", '@', 0, "alters one character of each larger answer", "writers without a lock, re-used buffers"},
	{"truncate-at-exit", '@', 64 << 10, "exits with code 0 in the middle of the first larger answer", "process.exit() with a pipe behind stdout"},
	{"quadratic", 0, 0, "searches and copies all it has of a message for each 4 KiB that come", "Buffer.concat for each chunk"},
}

// Faults returns the kinds of faults.
func Faults() []FaultKind { return slices.Clone(faultKinds) }

// Usage is the form of a kind's spec, such as "deaf@1MiB".
func (k FaultKind) Usage() string {
	if k.Sign == 0 || k.Default == 0 {
		return k.Name
	}
	return Fault{k.Name, k.Default}.String()
}

// ParseFault reads a spec.
func ParseFault(spec string) (Fault, error) {
	name, size := spec, ""
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		name, size = spec[:i], spec[i:]
	}
	kind, ok := faultKind(name)
	if !ok {
		return Fault{}, unknownFault(name)
	}
	f := Fault{Kind: name, Bytes: kind.Default}
	if size == "" {
		return f, nil
	}
	if kind.Sign == 0 {
		return Fault{}, fmt.Errorf("fault %s: takes no size, got %q", name, size)
	}
	if size[0] != kind.Sign {
		return Fault{}, fmt.Errorf("fault %s: write its size as %s%cSIZE, got %q", name, name, kind.Sign, spec)
	}
	n, err := results.ParseSize(size[1:])
	if err != nil {
		return Fault{}, fmt.Errorf("fault %s: %w", name, err)
	}
	f.Bytes = n
	return f, f.check()
}

func faultKind(name string) (FaultKind, bool) {
	i := slices.IndexFunc(faultKinds, func(k FaultKind) bool { return k.Name == name })
	if i < 0 {
		return FaultKind{}, false
	}
	return faultKinds[i], true
}

func unknownFault(name string) error {
	known := make([]string, len(faultKinds))
	for i, k := range faultKinds {
		known[i] = k.Name
	}
	return fmt.Errorf("unknown fault %q: known are %s", name, strings.Join(known, ", "))
}

// check reports what is wrong with a Fault that was not parsed.
func (f Fault) check() error {
	if f == (Fault{}) {
		return nil
	}
	kind, ok := faultKind(f.Kind)
	if !ok {
		return unknownFault(f.Kind)
	}
	if f.Bytes < 0 || kind.Sign == '=' && f.Bytes == 0 {
		return fmt.Errorf("fault %s: a size of %d bytes does nothing: want more", f.Kind, f.Bytes)
	}
	return nil
}

// String returns the spec of f, which ParseFault takes back; "" for none.
func (f Fault) String() string {
	kind, ok := faultKind(f.Kind)
	if !ok || kind.Sign == 0 || f.Bytes == 0 {
		return f.Kind
	}
	return f.Kind + string(kind.Sign) + strings.ReplaceAll(results.FormatSize(f.Bytes), " ", "")
}

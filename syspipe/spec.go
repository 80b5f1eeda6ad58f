// Package syspipe opens the byte pipes of an operating system and tells the truth about them: their
// real capacity, the bytes that wait in them, how each call ended, and whether the end had to wait.
//
//	w, r, err := syspipe.Open(syspipe.Anonymous, 64<<10)
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	w.SetIO(syspipe.Poller)
//	w.Write([]byte("hello"))
//	w.Close()
//	fmt.Println(w.Counters().Calls, "call")
//
// A pipe has two ends, each an owned descriptor: it is closed once, by its owner, and a use after
// that is an error that wraps [os.ErrClosed]. How an end waits for the kernel is its [IO]. An end
// can be handed to a child process with [End.Pass] and taken up there with [Inherited].
//
// # Who may call concurrently
//
// One goroutine at a time may read from an end, and one may write to it; both at once is fine where
// the kind has two directions ([SocketPair]). Close may be called by anyone at any time, and ends a
// call that is under way. Counters and the rest belong to the goroutine that reads or writes.
//
// # Blocking ends
//
// An end with [Blocking] makes raw system calls that the Go scheduler does not see, which is what
// lets Go reach the speed of C. The price: while such a call waits it holds a scheduler slot and
// keeps the garbage collector from stopping the world; and a goroutine of a thread of its own that
// waits in Go's poller meanwhile is seen to 10 ms late, or after a minute: Go takes the thread in
// the call for one that runs, and will poll (seen with Go 1.26). Use it in a process made for the
// purpose: GOMAXPROCS of at least the blocking ends plus two, [runtime.LockOSThread], no end with
// [Poller], and the collector off while the ends are in use. Everything else in this package is safe
// in any program.
//
// # Not promised
//
// Nothing is said about the order in which two writers of one pipe get through, and a message is
// not kept whole: that is a framing's work.
package syspipe

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Kind is a sort of pipe that an operating system offers.
type Kind string

const (
	// Anonymous is pipe(2), or CreatePipe on Windows: what a shell's | and os/exec use.
	Anonymous Kind = "anonymous"
	// FIFO is a pipe with a name in the file system. Open makes it in a private folder and removes
	// the name once both ends are open.
	FIFO Kind = "fifo"
	// SocketPair is socketpair(AF_UNIX, SOCK_STREAM): what Node.js gives its children as standard
	// streams. It has two directions.
	SocketPair Kind = "socketpair"
	// Named is a Windows named pipe opened for overlapped operation, so that deadlines and Go's
	// poller work on it.
	Named Kind = "named"

	// Unix is a stream connection through a Unix socket with a name in the file system, as daemons
	// listen on. Open makes it in a private folder and removes the name at once.
	Unix Kind = "unix"
	// SeqPacket is the same of SOCK_SEQPACKET, which keeps packets whole. As a byte stream, a write
	// becomes packets of at most 64 KiB, and what a Read leaves of one comes with the next Read. Linux
	// only.
	SeqPacket Kind = "seqpacket"
	// PTY is a pseudo-terminal that passes bytes on as they are: a program writes to its side, and
	// whoever shows the terminal reads. Linux only.
	PTY Kind = "pty"
	// Ring is memory that both processes map, and futex(2) where one has to wait for the other: no
	// call of the kernel moves a byte, so this is the floor of all transports and none that a shell
	// or os/exec offers. One process writes and one reads; where one was killed, the other notices
	// within 100 ms. Linux only.
	Ring Kind = "ring"
)

// System names the system whose rules pipes follow here: as [runtime.GOOS] does, but "gvisor" for
// the kernel that says it is a certain build of Linux.
var System = sync.OnceValue(func() string {
	if version, _ := os.ReadFile("/proc/version"); IsGVisor(string(version)) {
		return "gvisor"
	}
	return runtime.GOOS
})

// IsGVisor reports whether a text is that of gVisor's /proc/version, which is the same in all of
// its releases.
func IsGVisor(version string) bool {
	return strings.Contains(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016")
}

// ReadLimit returns the number in a file of Linux's /proc/sys/fs, where the limits of pipes are; false
// where there is none.
func ReadLimit(file string) (int, bool) {
	text, _ := os.ReadFile(file)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// Kinds returns every kind that pipebench knows, on any system, always in the same order.
func Kinds() []Kind { return append(Pipes(), Unix, SeqPacket, PTY, Ring) }

// Pipes returns the kinds that programs are given as standard streams where nobody looks at a
// terminal. The others are there to be compared with them.
func Pipes() []Kind { return []Kind{Anonymous, FIFO, SocketPair, Named} }

// IsSocket reports whether the kind is one of sockets, which share their limits and their errors.
func (k Kind) IsSocket() bool { return k == SocketPair || k == Unix || k == SeqPacket }

// IsPipe reports whether the kernel's own pipe is behind the kind: then it has slots, a capacity that
// the system states, and pages that can be lent.
func (k Kind) IsPipe() bool { return k == Anonymous || k == FIFO || k == Named }

// Supported returns nil where this operating system has the kind, else an error that wraps
// [errors.ErrUnsupported] and names the system.
func (k Kind) Supported() error {
	if slices.Contains(supportedKinds, k) {
		return nil
	}
	return unsupported(fmt.Sprintf("pipe kind %s", k))
}

// ParseKind returns the kind of that name. It need not be one that this system supports.
func ParseKind(name string) (Kind, error) { return parseName("pipe kind", name, Kinds()) }

func parseName[T ~string](what, name string, known []T) (T, error) {
	if slices.Contains(known, T(name)) {
		return T(name), nil
	}
	return "", fmt.Errorf("unknown %s %q (known: %s)", what, name, joinNames(known))
}

// noun names the kind in the middle of a sentence.
func (k Kind) noun() string {
	nouns := map[Kind]string{
		Anonymous: "anonymous pipe", Named: "named pipe", SocketPair: "socket pair", Unix: "Unix socket",
		SeqPacket: "seqpacket socket", PTY: "pseudo-terminal", Ring: "ring in memory",
	}
	return cmp.Or(nouns[k], string(k))
}

func joinNames[T any](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

// An IO is how an end waits when the kernel cannot serve it yet. It is a comparable value; the zero
// IO is [Blocking].
type IO struct {
	name  string // but for Blocking
	pause time.Duration
}

var (
	// Blocking makes raw calls on a blocking descriptor and waits inside the kernel, as a C program
	// does. The caller locks its OS thread.
	Blocking = IO{}
	// Poller leaves the waiting to Go's network poller, as every os.File that is a pipe does.
	Poller = IO{name: "poller"}
	// Poll waits in poll(2) when a non-blocking call cannot go on.
	Poll = IO{name: "poll"}
	// Spin repeats the non-blocking call at once.
	Spin = IO{name: "spin"}
)

// DefaultPause is the pause that [IOs] shows for sleep: the one that a widely used SDK takes.
const DefaultPause = 10 * time.Millisecond

// Sleep pauses for d before it repeats a non-blocking call. A d of zero or less is [Spin].
func Sleep(d time.Duration) IO {
	if d <= 0 {
		return Spin
	}
	return IO{name: "sleep", pause: d}
}

// Pause returns how long an end that sleeps does so, 0 of any other.
func (io IO) Pause() time.Duration { return io.pause }

// IOs returns every way to wait that pipebench knows, always in the same order, with [DefaultPause]
// for sleep.
func IOs() []IO { return []IO{Poller, Blocking, Poll, Spin, Sleep(DefaultPause)} }

// String returns what ParseIO reads: "poller", "blocking", "poll", "spin", "sleep=10ms".
func (io IO) String() string {
	if io.pause > 0 {
		return "sleep=" + io.pause.String()
	}
	return cmp.Or(io.name, "blocking")
}

// ParseIO reads the name of a way to wait. "sleep" alone pauses for [DefaultPause].
func ParseIO(name string) (IO, error) {
	if pause, ok := strings.CutPrefix(name, "sleep="); ok {
		d, err := time.ParseDuration(pause)
		if err != nil || d <= 0 {
			return IO{}, fmt.Errorf("io sleep=%s: want a duration above zero, as in sleep=10ms", pause)
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
	return IO{}, fmt.Errorf("unknown io %q (known: %s)", name, joinNames(IOs()))
}

// Supported returns nil where some kind of pipe of this operating system can be waited for in this
// way, else an error that wraps [errors.ErrUnsupported] and names the system. [End.SetIO] has the
// last word for one pipe.
func (io IO) Supported() error {
	if slices.Contains(supportedIOs, IO{name: io.name}) {
		return nil
	}
	return unsupported("io " + io.String())
}

// A Transfer is how bytes get into a pipe and out of it.
type Transfer string

const (
	// Copy is write and read: the kernel copies every byte twice.
	Copy Transfer = "copy"
	// Vmsplice maps the writer's pages into the pipe ([End.Vmsplice]); the reader copies them out
	// of it.
	Vmsplice Transfer = "vmsplice"
	// Splice maps the pages too, and the reading end moves them to /dev/null ([End.Discard]). No
	// byte is copied and nobody reads one, so this is what the pipe itself can do and not what any
	// program can.
	Splice Transfer = "splice"
)

// Transfers returns every transfer that pipebench knows, always in the same order.
func Transfers() []Transfer { return []Transfer{Copy, Vmsplice, Splice} }

// ParseTransfer returns the transfer of that name. It need not be one that this system supports.
func ParseTransfer(name string) (Transfer, error) { return parseName("transfer", name, Transfers()) }

// Supported returns nil where this system has the transfer, else an error that wraps
// [errors.ErrUnsupported] and names the system.
func (t Transfer) Supported() error {
	if t == Copy || lendsPages {
		return nil
	}
	return unsupported("transfer " + string(t))
}

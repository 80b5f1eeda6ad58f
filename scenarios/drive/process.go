package drive

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// alive reports whether the process has not ended yet.
func (c *conn) alive() bool { return !c.Ended(0) }

// The patience with a server that is asked to leave: at the end of its input it may finish its
// work, at SIGTERM it should only tidy up.
const (
	leaveAtEOF  = 2 * time.Second
	leaveAtTerm = time.Second
)

// shutdown ends the server and everything that served it. A polite one lets it leave by itself first.
func (c *conn) shutdown(politely bool) {
	c.resumeReading()
	if politely {
		c.stdin.Close()
		c.Stop(leaveAtEOF, leaveAtTerm)
	}
	c.Kill()
	<-c.Done()
	closedWithin(c.drained, leaveAtTerm) // at once, unless a process that left its group has it still
	c.Close()
	<-c.drained
	<-c.closed
	c.replied.Wait()
}

// What of standard error is kept, and what of it goes into a record.
const (
	tailBytes   = 8 << 10
	quotedLines = 5
	quotedText  = 300 // characters of a line
)

// Lines of standard error that say what went wrong, and those that only say where.
var (
	errorLine = regexp.MustCompile(`(?i)error|exception|panic|fatal|exceed|too (long|large|big)|limit|overflow|cannot|failed`)
	stackLine = regexp.MustCompile(`^(at |File "|goroutine \d|\S+\.go:\d|node:internal|\^+$|Node\.js v\d)`)
)

// stderrLines returns the last lines on standard error, shortened, without those of a stack trace.
// The last that looks like an error is among them: a program may say much after it.
func (c *conn) stderrLines() []string {
	var out []string
	failure := -1 // the last line that looks like one
	for line := range strings.Lines(c.stderrTail.String()) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if line == "" || stackLine.MatchString(line) {
			continue
		}
		if errorLine.MatchString(line) {
			failure = len(out)
		}
		out = append(out, view.Truncate(line, quotedText))
	}
	last := max(0, len(out)-quotedLines)
	if failure >= 0 && failure < last {
		out[last] = out[failure]
	}
	return out[last:]
}

// exitVerdict says how the process ended. Call it only when it has.
func (c *conn) exitVerdict() Verdict {
	state := c.Cmd.ProcessState
	if _, name, ok := proc.Signaled(state); ok {
		return Verdict(signalPrefix + name)
	}
	return Verdict(fmt.Sprint(exitPrefix, state.ExitCode()))
}

// ifKnown returns what a system told of a process, nil where it did not.
func ifKnown[N ~int64](n N, known bool) *int64 {
	if !known {
		return nil
	}
	return new(int64(n))
}

// counters are what both sides had done at a time.
type counters struct {
	at             time.Time
	sent, received int64 // bytes that the pipe took of ours, and that came
	calls          int64 // ours, to write and to read
	stderr         int64 // bytes that the server wrote there

	// ns of a CPU; nil where the system does not tell
	cpu     *int64 // that the server used
	treeCPU *int64 // that the server and all that it started used; read by account alone
	ownCPU  *int64 // that we used; read by account alone
}

// counters reads where both sides are, but for our own CPU time.
func (c *conn) counters() counters {
	return counters{
		at: time.Now(), sent: c.in.bytes.Load(), received: c.out.bytes.Load(),
		calls: c.in.calls.Load() + c.out.calls.Load(), stderr: c.stderrTail.Total(), cpu: ifKnown(c.CPU()),
	}
}

// account reads where both sides are, for a sample.
func (c *conn) account() counters {
	now := c.counters()
	now.ownCPU, now.treeCPU = ifKnown(proc.OwnCPU()), ifKnown(c.TreeCPU())
	return now
}

// since returns by how much processor time went up; nil where it is not known.
func since(now, before *int64) *int64 {
	if now == nil || before == nil {
		return nil
	}
	return new(*now - *before)
}

// sample says what both sides did since. The writer is this process, the reader is the server,
// which alone knows how many calls it made.
func (c *conn) sample(before counters) results.Sample {
	now := c.account()
	s := results.Sample{WireBytes: now.sent - before.sent}
	moved := s.WireBytes + now.received - before.received
	s.Writer = results.Counters{Calls: now.calls - before.calls, Bytes: moved, CPUNS: since(now.ownCPU, before.ownCPU)}
	s.Reader = results.Counters{Bytes: moved, CPUNS: since(now.treeCPU, before.treeCPU), PeakBytes: ifKnown(c.PeakMemory())}
	s.Capacity, _ = c.stdin.Capacity() // 0 where the system does not tell
	return s
}

// timed says what both sides did since, in round trips that took so many ns each and carried so many
// bytes of payload together.
func (c *conn) timed(before counters, times []int64, payload int64) results.Sample {
	s := c.sample(before)
	s.Messages, s.PayloadBytes = int64(len(times)), payload
	for _, took := range times {
		s.ElapsedNS += took
	}
	s.Latency = map[string]results.Latency{latencyRoundtrip: script.Must(results.NewLatency(times))}
	return s
}

// busy is the share of a CPU above which a server is at work, not asleep.
const busy = 0.2

// spun reports whether the server used a good part of a CPU between two readings; with all that it
// started, where both are of an account.
func spun(before, now counters) bool {
	worked := cmp.Or(since(now.treeCPU, before.treeCPU), since(now.cpu, before.cpu))
	return worked != nil && float64(*worked) > busy*float64(now.at.Sub(before.at))
}

// An extension puts off a deadline for a server that gets on, a number of times.
type extension struct {
	c    *conn
	last counters
	left int
}

// mostExtensions is how often a deadline for a message is put off.
const mostExtensions = 9

func (c *conn) extension(times int) extension { return extension{c, c.account(), times} }

// granted reports whether the server did anything since the last time (took something, sent
// something, or worked for a good part of the time), or would have if it had a CPU: on a busy
// machine one that is at work may come to less than its share.
func (x *extension) granted() bool {
	now, last := x.c.account(), x.last
	x.left, x.last = x.left-1, now
	moved := now.sent > last.sent || now.received > last.received
	waits, _ := x.c.stdout.Buffered() // 0 where the system does not tell
	return x.left >= 0 && (moved || waits > 0 || spun(last, now) || x.c.Runnable())
}

// A countedStream is a stream of the server's as we see it, counted so that another goroutine may
// look while a call is under way.
type countedStream struct {
	end   *syspipe.End
	bytes atomic.Int64
	calls atomic.Int64

	chunk int                           // bytes a write; 0 is all of them
	pause time.Duration                 // after each
	gate  atomic.Pointer[chan struct{}] // closed when reading may go on; nil where nothing holds it up

	copyTo atomic.Pointer[proc.Tail] // of what is read; nil for none
}

func (s *countedStream) Read(p []byte) (int, error) {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	n, err := s.end.Read(p)
	s.count(int64(n))
	if to := s.copyTo.Load(); to != nil {
		to.Write(p[:n])
	}
	return n, err
}

func (s *countedStream) count(n int64) {
	s.bytes.Add(n)
	s.calls.Add(1)
}

// Write gives p to the server in the pieces that were asked for. The bytes are counted piece by
// piece.
func (s *countedStream) Write(p []byte) (int, error) {
	size := s.chunk
	if size <= 0 {
		size = len(p)
	}
	done := 0
	for done < len(p) {
		n, err := s.end.Write(p[done:min(done+size, len(p))])
		s.count(int64(n))
		done += n
		if err != nil {
			return done, err
		}
		if s.pause > 0 && done < len(p) {
			time.Sleep(s.pause)
		}
	}
	return done, nil
}

// A gatherStream is a countedStream whose writes need not be cut: a framing then sends header,
// message and terminator in one gather call.
type gatherStream struct{ *countedStream }

func (s gatherStream) Writev(bufs [][]byte) (int64, error) {
	n, err := s.end.Writev(bufs)
	s.count(n)
	return n, err
}

package tap_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results/stat"
)

// The speed of a tap is shown beside none at all and beside yardsticks, in turns within one run,
// with everything on CPUs that are given: the client on one; the tap and cat on the same, or
// together on another. A figure is the median of the turns, with its 95 % interval.

// ways lead from a client to cat and back.
var ways = []string{"none", "splice", "copy", "relay", "tap"}

// BenchmarkRoundTrip is the time from a message to its echo.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		trips := max(4, min(500, 4<<20/size))
		msg, buf := line(size), make([]byte, size)
		everyPlace(b, fmt.Sprintf("size=%d", size), "ns", func(l *link) float64 {
			began := time.Now()
			for range trips {
				l.roundTrip(msg, buf)
			}
			return float64(time.Since(began).Nanoseconds()) / float64(trips)
		})
	}
}

// BenchmarkBulk is how much passes there and back while the client writes and reads all the time:
// 64 KiB a write, or a message if it is larger.
func BenchmarkBulk(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		msg, buf := line(size), make([]byte, 256<<10)
		for len(msg) < 64<<10 {
			msg = append(msg, msg...)
		}
		writes := 8 << 20 / len(msg)
		everyPlace(b, fmt.Sprintf("size=%d", size), "MB/s", func(l *link) float64 {
			began := time.Now()
			l.write <- load{msg, writes}
			l.read(buf, writes*len(msg))
			return float64(writes*len(msg)) / 1e6 / time.Since(began).Seconds()
		})
	}
}

func everyPlace(b *testing.B, name, unit string, turn func(l *link) float64) {
	topology, err := placement.Read()
	if err != nil {
		b.Fatal(err)
	}
	for _, place := range []string{"same", "apart"} {
		b.Run(name+"/placement="+place, func(b *testing.B) {
			cpus, err := topology.Choose(place)
			if err != nil {
				b.Skip(err)
			}
			contest(b, cpus, unit, turn)
		})
	}
}

// contest has every way take turns, in an order drawn for each round.
func contest(b *testing.B, cpus placement.CPUs, unit string, turn func(l *link) float64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // who waits in the kernel keeps a share of the scheduler
	runtime.LockOSThread()                          // and never unlocked: the thread, which is pinned, ends with the goroutine
	if err := placement.PinThread(cpus.Reader); err != nil {
		b.Fatal(err)
	}
	links, figures := map[string]*link{}, map[string][]float64{}
	for _, way := range ways {
		links[way] = connect(b, way, cpus)
		turn(links[way]) // to warm up
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		for _, i := range draw.Perm(len(ways)) {
			runtime.Gosched() // what goes on for 10 ms is preempted, which a turn is short enough for
			figures[ways[i]] = append(figures[ways[i]], turn(links[ways[i]]))
		}
	}
	b.ReportMetric(0, "ns/op") // a round's time is nothing to know
	for _, way := range ways {
		e := stat.Median(figures[way])
		b.ReportMetric(e.Median, way+"-"+unit)
		ratios := make([]float64, len(figures[way]))
		for i, f := range figures[way] {
			ratios[i] = f / figures["copy"][i]
		}
		b.Logf("%-6s %9.0f %s %s, %.2f of copy's in the same round, n = %d", way, e.Median, unit, bounds(e), stat.Median(ratios).Median, e.N)
	}
}

func bounds(e stat.Estimate) string {
	if e.Interval == nil {
		return "[too few rounds]"
	}
	return fmt.Sprintf("[%.0f, %.0f]", e.Interval.Lo, e.Interval.Hi)
}

// A link is a client's two descriptors, which block.
type link struct {
	tb      testing.TB
	in, out int
	write   chan load
}

// A load is to be written so many times.
type load struct {
	msg   []byte
	times int
}

// connect starts cat on one CPU, with something between or not, and a client's writer on the other.
func connect(tb testing.TB, way string, cpus placement.CPUs) *link {
	tb.Helper()
	args := []string{"cat"}
	if way != "none" {
		args = append([]string{self()}, args...)
	}
	record, err := os.Create(tb.TempDir() + "/recording.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), job+"="+way, "RECORD=1")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{record}, os.Stderr
	theirIn, in := pipe(tb)
	out, theirOut := pipe(tb)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	onCPU(cpus.Writer, func() { err = cmd.Start() })
	for _, f := range []*os.File{theirIn, theirOut, record} {
		f.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	l := &link{tb: tb, in: int(in.Fd()), out: int(out.Fd()), write: make(chan load)}
	written := make(chan struct{})
	go onCPU(cpus.Reader, func() {
		defer close(written)
		for next := range l.write {
			for range next.times {
				l.send(next.msg)
			}
		}
	})
	tb.Cleanup(func() {
		close(l.write)
		<-written
		in.Close()
		out.Close()
		cmd.Wait()
	})
	return l
}

// onCPU does something on a thread of its own, on one CPU, as does everything that is started
// there.
func onCPU(cpu int, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		if placement.PinThread(cpu) == nil {
			do()
		}
	}()
	<-done
}

// roundTrip writes beside reading what does not fit on the way.
func (l *link) roundTrip(msg, buf []byte) {
	if len(msg) > 32<<10 {
		l.write <- load{msg, 1}
	} else {
		l.send(msg)
	}
	l.read(buf, len(msg))
}

func (l *link) send(p []byte) {
	for len(p) > 0 {
		n, err := syscall.Write(l.in, p)
		if err != nil {
			l.tb.Error(err)
			return
		}
		p = p[n:]
	}
}

// read takes n bytes.
func (l *link) read(buf []byte, n int) {
	for n > 0 {
		got, err := syscall.Read(l.out, buf[:min(n, len(buf))])
		if err != nil || got == 0 {
			l.tb.Fatalf("read: %d bytes, %v", got, err)
		}
		n -= got
	}
}

// line is a request of size bytes, newline and all.
func line(size int) []byte {
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"`, "\"}}\n"
	b := make([]byte, 0, size)
	b = append(b, head...)
	for len(b) < size-len(tail) {
		b = append(b, 'x')
	}
	return append(b, tail...)
}

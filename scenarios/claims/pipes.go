package claims

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// pipeClaims are what document 000 says of pipes, judged on this system.
var pipeClaims = []Claim{
	claim("000-pipe-buf", func(ctx context.Context, s *session) Atomicity {
		return once(s, "writers that share a pipe", func() Atomicity {
			e := Atomicity{OS: runtime.GOOS}
			script.Check(syspipe.Blocking.Supported())
			for _, size := range []int{512, 513, 3000, 4096, 4097, 5000} {
				m := faults.InterleaveWrites(ctx, size)
				e.Mixtures = append(e.Mixtures, *m)
				e.PipeBuf = m.PipeBuf
			}
			return e
		})
	}, func(e Atomicity) finding {
		whole, m := 0, faults.InterleavedWrites{}
		for _, m = range e.Mixtures {
			if m.Cut != 0 {
				break
			}
			whole = m.Size
		}
		figure := fmt.Sprintf("%d B whole", whole)
		if m.Cut != 0 {
			figure += fmt.Sprintf(", %d B cut %d times in %d", m.Size, m.Cut, m.Writes)
		}
		return decide(figure, m.Cut == 0, m.Size <= 512, m.Size > 4096).naming(fmt.Sprintf("%d on %s", e.PipeBuf, e.OS))
	}),
	claim("000-capacity", gatherLargeWrite, func(e LargeWrite) finding {
		figure := fmt.Sprintf("%d B accepted, pages of %d B", e.Fill.Accepted, e.PageSize)
		return decide(figure, e.Fill.Accepted == 64<<10)
	}),
	claim("000-write-blocks", gatherLargeWrite, func(e LargeWrite) finding {
		return decide(fmt.Sprintf("%d of %d B accepted", e.Block.Accepted, e.Block.Offered), e.Block.Stalled)
	}),
	claim("000-write-eagain", gatherLargeWrite, func(e LargeWrite) finding {
		figure, large := "", Stall{}
		if e.NonBlock != nil {
			large = *e.NonBlock
			figure = fmt.Sprintf("first %d of %d B, then EAGAIN", large.Accepted, large.Offered)
		}
		return decide(figure, e.NonBlock == nil, large.Accepted == 0 && large.EAGAIN > 0, large.EAGAIN == 0,
			e.OneMore != nil && e.OneMore.EAGAIN > 0)
	}),
	claim("000-write-epipe", gatherLargeWrite, func(e LargeWrite) finding {
		figure, said, gone := "", e.Gone, e.OnePipe && e.GonePipe
		switch {
		case e.ReadPipe:
			figure, said = "EPIPE with a reader at work", e.Read
		case gone:
			figure = "EPIPE for 65537 B and for 1 B, without a reader"
		}
		return decide(figure, e.ReadPipe, gone).naming(said)
	}),
	claim("000-chunks-avoid-blocking", func(_ context.Context, _ *session) ChunkedWrite {
		msg := message(1 << 20)
		write := func(framing string) Stall {
			return writeUnread(syspipe.Poller, int64(len(msg)), sending(script.Must(framers.Parse(framing)), msg))
		}
		return ChunkedWrite{write("ndjson"), write("chunked:61440")}
	}, func(e ChunkedWrite) finding {
		figure := fmt.Sprintf("stuck after %s in chunks, %s as a line", faults.Size(e.Chunked.Accepted), faults.Size(e.Bare.Accepted))
		return decide(figure, e.Chunked.Stalled, e.Bare.Stalled)
	}),
	claim("000-60k-leaves-room", func(_ context.Context, _ *session) Room {
		const data = 60 << 10
		// The longest header within the limits of the format: 2³¹-1 frames.
		header := fmt.Sprintf("%036d:%d:%d:\n", 0, 1<<31-2, 1<<31-1)
		size := data + len(header)
		return Room{data, len(header), writeUnread(syspipe.Poller, int64(size), writeBytes(size))}
	}, func(e Room) finding {
		size := e.Data + e.Header
		fits := size <= 64<<10 && !e.Frame.Stalled && e.Frame.Accepted == int64(size)
		return decide(fmt.Sprintf("%d + %d = %d B", e.Data, e.Header, size), fits).naming(fmt.Sprint(64<<10 - size))
	}),
}

// An Atomicity is the evidence of 000-pipe-buf.
type Atomicity struct {
	OS       string                     `json:"os"`
	PipeBuf  int                        `json:"pipe_buf"` // as the system's headers have it
	Mixtures []faults.InterleavedWrites `json:"mixtures"` // ascending by size
}

// A LargeWrite is the evidence of what writing more than a pipe holds does.
type LargeWrite struct {
	OS       string `json:"os"`
	PageSize int    `json:"page_size"`
	Fill     Stall  `json:"fill"`      // writes of 4096 bytes, nobody reads
	Block    Stall  `json:"block"`     // one blocking write of 65537 bytes, nobody reads
	NonBlock *Stall `json:"non_block"` // the same, non-blocking; absent where the system has no such mode
	OneMore  *Stall `json:"one_more"`  // 1 byte, non-blocking, into a full pipe
	Read     string `json:"read"`      // error of the write with a reader at work; empty: it succeeded
	Gone     string `json:"gone"`      // error of the write with the reader gone
	GoneOne  string `json:"gone_one"`  // error of a write of 1 byte with the reader gone
	ReadPipe bool   `json:"read_epipe"`
	GonePipe bool   `json:"gone_epipe"`
	OnePipe  bool   `json:"one_epipe"`
}

const overCapacity = 64<<10 + 1

func gatherLargeWrite(_ context.Context, s *session) LargeWrite {
	return once(s, "writes beyond what a pipe holds", func() (e LargeWrite) {
		e.OS, e.PageSize = runtime.GOOS, os.Getpagesize()
		fill := func(w io.Writer) (err error) {
			for err == nil {
				err = writeBytes(4096)(w)
			}
			return err
		}
		e.Fill = writeUnread(syspipe.Poller, 0, fill)
		e.Block = writeUnread(syspipe.Poller, overCapacity, writeBytes(overCapacity))
		if syspipe.Poll.Supported() == nil {
			e.NonBlock = new(writeUnread(syspipe.Poll, overCapacity, writeBytes(overCapacity)))
			full := func(w io.Writer) error { return errors.Join(writeBytes(64<<10)(w), writeBytes(1)(w)) }
			e.OneMore = new(writeUnread(syspipe.Poll, 64<<10+1, full))
		}
		e.Read, e.ReadPipe = writeTo(true, overCapacity)
		e.Gone, e.GonePipe = writeTo(false, overCapacity)
		e.GoneOne, e.OnePipe = writeTo(false, 1)
		return e
	})
}

// writeTo writes size bytes with a reader at work, or with one that has left, and returns the
// write's error and whether that is EPIPE.
func writeTo(reader bool, size int) (text string, broken bool) {
	w, r, closeBoth := faults.Open(syspipe.Anonymous)
	defer closeBoth()
	faults.UsePoller(w, r)
	var reading sync.WaitGroup
	if reader {
		reading.Go(func() { io.Copy(io.Discard, r) })
	} else {
		r.Close()
	}
	_, err := w.Write(make([]byte, size))
	w.Close()
	reading.Wait()
	return faults.ErrorText(err), errors.Is(err, syscall.EPIPE)
}

// A ChunkedWrite is the evidence of 000-chunks-avoid-blocking.
type ChunkedWrite struct {
	Bare    Stall `json:"bare"`
	Chunked Stall `json:"chunked"`
}

// A Room is the evidence of 000-60k-leaves-room.
type Room struct {
	Data   int   `json:"data"`   // bytes of the message that the frame carries
	Header int   `json:"header"` // bytes before them, and the newline after
	Frame  Stall `json:"frame"`  // writing it to an empty pipe
}

// chunkingClaims are what document 000 says chunks cost.
var chunkingClaims = []Claim{
	claim("000-header-40", func(context.Context, *session) (e Headers) {
		f := script.Must(framers.Chunked(60 << 10))
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
			h := HeaderOf{Message: size, Least: size}
			for _, wire := range framesOf(f, bytes.Repeat([]byte("x"), size)) {
				extra := len(wire) - bytes.Count(wire, []byte("x")) // a header has no such letter
				h.Frames++
				h.Least, h.Most = min(h.Least, extra), max(h.Most, extra)
			}
			e.Messages = append(e.Messages, h)
		}
		return e
	}, func(e Headers) finding {
		var t tally
		least, most := 1<<30, 0
		for _, m := range e.Messages {
			least, most = min(least, m.Least), max(most, m.Most)
			t.add(faults.Size(m.Message), m.Least >= 34 && m.Most <= 46)
		}
		return t.judge(fmt.Sprintf("%d to %d B", least, most))
	}),
	claim("000-overhead-bytes", func(ctx context.Context, s *session) (e Wire) {
		records := s.costs(ctx)
		overhead := stat.MustMetric("overhead")
		for _, size := range streamSizes { // the placements tell the same
			i := slices.IndexFunc(records, func(r results.Record) bool {
				return r.Cell.Framing == "chunked:61440" && r.Cell.Size == size && len(r.Samples) > 0
			})
			if i >= 0 {
				e.Overhead = append(e.Overhead, WireOf{size, overhead.Estimate(records[i]).Median})
			}
		}
		return e
	}, func(e Wire) finding {
		var t tally
		least, most := 0.0, 0.0
		for i, o := range e.Overhead {
			if i == 0 || o.Percent < least {
				least = o.Percent
			}
			most = max(most, o.Percent)
			t.add(faults.Size(o.Size), o.Percent < 1)
		}
		return t.judge(fmt.Sprintf("%.2g %% to %.2g %%, exact", least, most))
	}),
	costClaim("000-overhead-time", "time", 0, 1.01),
	costClaim("000-overhead-cpu", "cpu", 0, 1.01),
	claim("000-latency-small", func(ctx context.Context, s *session) (e Small) {
		records := s.costs(ctx)
		e.Framed = ratios(records, "time", "chunked:61440", "ndjson", "roundtrip", 0)
		e.Bare = ratios(records, "time", "adaptive:61440", "ndjson", "roundtrip", 0)
		return e
	}, func(e Small) finding {
		framed, _ := compareAll(e.Framed, 1+noticeable)
		bare, _ := compareAll(e.Bare, 1+noticeable)
		figure := fmt.Sprintf("framed: %s; bare: %s", ratioRange(e.Framed), ratioRange(e.Bare))
		known := framed != Depends && bare != Depends && (framed == bare || bare == Holds)
		return decide(figure, !known, framed != bare, bare == Holds).unsureIf(!known)
	}),
	costClaim("000-throughput", "time", 65_000, 1+noticeable),
}

// Headers are the evidence of 000-header-40.
type Headers struct {
	Messages []HeaderOf `json:"messages"`
}

// A HeaderOf is what the frames of one message carry beside its bytes.
type HeaderOf struct {
	Message int `json:"message"` // bytes
	Frames  int `json:"frames"`
	Least   int `json:"least"` // bytes of header and newline, of any frame
	Most    int `json:"most"`
}

// Wire is the evidence of 000-overhead-bytes.
type Wire struct {
	Overhead []WireOf `json:"overhead"` // ascending by size
}

// A WireOf is what one size of message takes beyond its payload.
type WireOf struct {
	Size    int     `json:"size"`
	Percent float64 `json:"percent"`
}

// Costs are the evidence of the claims on time, CPU and throughput.
type Costs struct {
	Metric string  `json:"metric"`
	Base   string  `json:"base,omitempty"` // the framing of the other side; earlier versions: lines
	Ratios []Ratio `json:"ratios"`         // to the same messages in that framing
}

// costClaim is about streams of messages of a size or more: chunks cost no more than a bound.
func costClaim(id, metric string, least int, bound float64) Claim {
	return claim(id, func(ctx context.Context, s *session) Costs {
		all := ratios(s.costs(ctx), metric, "chunked:61440", baseline, "stream", least)
		return Costs{metric, baseline, all}
	}, func(e Costs) finding {
		verdict, unsure := compareAll(e.Ratios, bound)
		figure := "against " + cmp.Or(e.Base, "ndjson") + ": " + ratioRange(e.Ratios)
		return decide(figure, verdict == Holds, verdict == Refuted, unsure).unsureIf(unsure)
	})
}

// Small is the evidence of 000-latency-small.
type Small struct {
	Framed []Ratio `json:"framed"` // every message is framed
	Bare   []Ratio `json:"bare"`   // small messages go as lines
}

package claims

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
	"github.com/pipebench/pipebench/syspipe"
)

// pipeClaims are what document 000 says of pipes, judged on this system.
var pipeClaims = []Claim{
	{
		ID: "000-pipe-buf", Seed: "000", Where: "The Problem",
		Text: "A pipe keeps writes of up to 512 bytes whole (PIPE_BUF), and longer ones not",
		Rule: "Four processes write to one pipe. Refuted where a write of 512 bytes is cut, or where the shortest write that is cut is longer than 4096 bytes; holds where the shortest is between; depends where none was cut.",
		exam: by(gatherAtomicity, judgeAtomicity),
	},
	{
		ID: "000-capacity", Seed: "000", Where: "The Problem",
		Text: "A pipe holds 64 KiB",
		Rule: "Holds if exactly 65536 bytes are accepted, in writes of 4096 bytes, while nobody reads.",
		exam: by(gatherLargeWrite, judgeCapacity),
	},
	{
		ID: "000-write-blocks", Seed: "000", Where: "The Problem",
		Text: "Writing more than 64 KiB at once may block",
		Rule: "Holds if a blocking write of 65537 bytes still waits when nobody reads; refuted if it returns.",
		exam: by(gatherLargeWrite, judgeBlocks),
	},
	{
		ID: "000-write-eagain", Seed: "000", Where: "The Problem",
		Text: "Writing more than 64 KiB at once may fail with EAGAIN",
		Rule: "Holds if a write of 65537 bytes to an empty pipe fails with EAGAIN; depends if it only does so on a non-blocking descriptor, after a short count, as a write of 1 byte to a full pipe does too; refuted if it never does.",
		exam: by(gatherLargeWrite, judgeAgain),
	},
	{
		ID: "000-write-epipe", Seed: "000", Where: "The Problem",
		Text: "Writing more than 64 KiB at once can lead to EPIPE",
		Rule: "Holds if a write of 65537 bytes fails with EPIPE while a reader reads; refuted if EPIPE comes only when the reader has left, and then for 1 byte as well.",
		exam: by(gatherLargeWrite, judgeBroken),
	},
	{
		ID: "000-chunks-avoid-blocking", Seed: "000", Where: "The Solution",
		Text: "Chunking works around the pipe's limit: the writer does not block",
		Rule: "A message of 1 MiB is written where nobody reads, as one line and in chunks of 60 KiB. Refuted if the chunking writer waits as well; holds if it alone does not.",
		exam: by(gatherChunkedWrite, judgeChunkedWrite),
	},
	{
		ID: "000-60k-leaves-room", Seed: "000", Where: "Configuration",
		Text: "60 KiB of data leave room for the frame's header within 64 KiB",
		Rule: "Holds if the longest frame of 61440 bytes of data has at most 65536 bytes and an empty pipe takes it whole.",
		exam: by(gatherRoom, judgeRoom),
	},
}

// An Atomicity is the evidence of 000-pipe-buf.
type Atomicity struct {
	OS       string           `json:"os"`
	PipeBuf  int              `json:"pipe_buf"` // as the system's headers have it
	Mixtures []faults.Mixture `json:"mixtures"` // ascending by size
}

func gatherAtomicity(ctx context.Context, l *lab) (Atomicity, error) {
	return shared(l, "writers that share a pipe", func() (Atomicity, error) {
		e := Atomicity{OS: runtime.GOOS}
		if err := syspipe.Blocking.Supported(); err != nil {
			return e, err
		}
		for _, size := range []int{512, 513, 3000, 4096, 4097, 5000} {
			m, err := faults.Mix(ctx, size)
			if err != nil {
				return e, err
			}
			e.Mixtures = append(e.Mixtures, m)
			e.PipeBuf = m.PipeBuf
		}
		return e, nil
	})
}

func judgeAtomicity(e Atomicity) Judgement {
	whole := 0
	for _, m := range e.Mixtures {
		if m.Cut == 0 {
			whole = m.Size
			continue
		}
		figure := fmt.Sprintf("%d B whole, %d B cut %d times in %d", whole, m.Size, m.Cut, m.Writes)
		switch {
		case m.Size <= 512:
			return refuted(figure, "not even 512 bytes stay whole")
		case m.Size > 4096:
			return refuted(figure, fmt.Sprintf("PIPE_BUF is %d on %s; 512 is what POSIX demands at least, and what macOS has", e.PipeBuf, e.OS))
		}
		return holds(figure, "longer writes were cut, those of 512 bytes were not")
	}
	return depends(fmt.Sprintf("%d B whole", whole), "no write was cut in this run, which is no proof that none can be")
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

func gatherLargeWrite(_ context.Context, l *lab) (LargeWrite, error) {
	return shared(l, "writes beyond what a pipe holds", largeWrite)
}

func largeWrite() (e LargeWrite, err error) {
	e.OS, e.PageSize = runtime.GOOS, os.Getpagesize()
	fill := func(w *syspipe.End) error {
		for {
			if err := writeBytes(4096)(w); err != nil {
				return err
			}
		}
	}
	if e.Fill, err = writeUnread(syspipe.Poller, 0, fill); err != nil {
		return e, err
	}
	if e.Block, err = writeUnread(syspipe.Poller, overCapacity, writeBytes(overCapacity)); err != nil {
		return e, err
	}
	if syspipe.Poll.Supported() == nil {
		e.NonBlock, e.OneMore = new(Stall), new(Stall)
		if *e.NonBlock, err = writeUnread(syspipe.Poll, overCapacity, writeBytes(overCapacity)); err != nil {
			return e, err
		}
		full := func(w *syspipe.End) error { return errors.Join(writeBytes(64<<10)(w), writeBytes(1)(w)) }
		if *e.OneMore, err = writeUnread(syspipe.Poll, 64<<10+1, full); err != nil {
			return e, err
		}
	}
	return e, e.watchReaders()
}

// watchReaders writes with a reader at work, and with one that has left.
func (e *LargeWrite) watchReaders() error {
	for _, c := range []struct {
		size   int
		reader bool
		text   *string
		broken *bool
	}{
		{overCapacity, true, &e.Read, &e.ReadPipe},
		{overCapacity, false, &e.Gone, &e.GonePipe},
		{1, false, &e.GoneOne, &e.OnePipe},
	} {
		w, r, err := open()
		if err != nil {
			return err
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			if c.reader {
				readAll(r)
			}
			r.Close()
		}()
		if !c.reader {
			<-read
		}
		_, err = w.Write(make([]byte, c.size))
		w.Close()
		<-read
		if *c.broken = errors.Is(err, syscall.EPIPE); err != nil {
			*c.text = err.Error()
		}
	}
	return nil
}

func readAll(r *syspipe.End) {
	buf := make([]byte, 64<<10)
	for {
		if _, err := r.Read(buf); err != nil {
			return
		}
	}
}

func judgeCapacity(e LargeWrite) Judgement {
	figure := fmt.Sprintf("%d B accepted, pages of %d B", e.Fill.Accepted, e.PageSize)
	if e.Fill.Accepted == 64<<10 {
		return holds(figure, "exactly that much was accepted while nobody read; by default, and for writes that fill pages")
	}
	return refuted(figure, "a pipe of this system holds something else by default: capacity is counted in pages, and may be limited by user")
}

func judgeBlocks(e LargeWrite) Judgement {
	figure := fmt.Sprintf("%d of %d B accepted", e.Block.Accepted, e.Block.Offered)
	if e.Block.Stalled {
		return holds(figure, "the write waits for a reader as soon as the pipe is full, and goes on when one reads")
	}
	return refuted(figure, "the write returned although nobody read")
}

func judgeAgain(e LargeWrite) Judgement {
	if e.NonBlock == nil {
		return refuted("", "this system has no EAGAIN for pipes: a write that has no room waits, or reports zero bytes")
	}
	figure := fmt.Sprintf("first %d of %d B, then EAGAIN", e.NonBlock.Accepted, e.NonBlock.Offered)
	switch {
	case e.NonBlock.Accepted == 0 && e.NonBlock.EAGAIN > 0:
		return holds(figure, "the write was refused although the pipe was empty")
	case e.NonBlock.EAGAIN == 0:
		return refuted(figure, "no write was refused")
	case e.OneMore.EAGAIN > 0:
		return depends(figure, "only on a non-blocking descriptor, and only when nothing fits: the large write is cut short first, and a write of 1 byte to a full pipe gets EAGAIN as well")
	}
	return depends(figure, "only on a non-blocking descriptor")
}

func judgeBroken(e LargeWrite) Judgement {
	switch {
	case e.ReadPipe:
		return holds("EPIPE with a reader at work", "the write failed although the reader was there: "+e.Read)
	case e.OnePipe && e.GonePipe:
		return refuted("EPIPE for 65537 B and for 1 B, without a reader", "EPIPE says that nobody holds the reading end any more: size has no part in it")
	}
	return depends("", "no write failed with EPIPE here: with the reader gone it said: "+e.Gone)
}

// A ChunkedWrite is the evidence of 000-chunks-avoid-blocking.
type ChunkedWrite struct {
	Bare    Stall `json:"bare"`
	Chunked Stall `json:"chunked"`
}

func gatherChunkedWrite(_ context.Context, _ *lab) (e ChunkedWrite, err error) {
	msg := message(1 << 20)
	for _, c := range []struct {
		spec string
		into *Stall
	}{{"ndjson", &e.Bare}, {"chunked:61440", &e.Chunked}} {
		f, err := framers.Parse(c.spec)
		if err != nil {
			return e, err
		}
		*c.into, err = writeUnread(syspipe.Poller, int64(len(msg)), func(w *syspipe.End) error { return f.NewWriter(w).WriteMessage(msg) })
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

func judgeChunkedWrite(e ChunkedWrite) Judgement {
	figure := fmt.Sprintf("stuck after %s in chunks, %s as a line", evidence.Size(e.Chunked.Accepted), evidence.Size(e.Bare.Accepted))
	switch {
	case e.Chunked.Stalled:
		return refuted(figure, "what keeps a writer from waiting is a reader that reads; chunks let other messages in between, and nothing else")
	case e.Bare.Stalled:
		return holds(figure, "the chunking writer got through")
	}
	return depends(figure, "neither writer had to wait here")
}

// A Room is the evidence of 000-60k-leaves-room.
type Room struct {
	Data   int   `json:"data"`   // bytes of the message that the frame carries
	Header int   `json:"header"` // bytes before them, and the newline after
	Frame  Stall `json:"frame"`  // writing it to an empty pipe
}

func gatherRoom(_ context.Context, _ *lab) (Room, error) {
	const data = 60 << 10
	// The longest header within the limits of the format: 2³¹-1 frames.
	header := fmt.Sprintf("%036d:%d:%d:\n", 0, 1<<31-2, 1<<31-1)
	e := Room{Data: data, Header: len(header)}
	var err error
	e.Frame, err = writeUnread(syspipe.Poller, int64(data+len(header)), writeBytes(data+len(header)))
	return e, err
}

func judgeRoom(e Room) Judgement {
	size := e.Data + e.Header
	figure := fmt.Sprintf("%d + %d = %d B", e.Data, e.Header, size)
	if size <= 64<<10 && !e.Frame.Stalled && e.Frame.Accepted == int64(size) {
		return holds(figure, fmt.Sprintf("%d bytes are left even by the longest header; an empty pipe took the frame whole", 64<<10-size))
	}
	return refuted(figure, "the frame does not fit the pipe")
}

package claims

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
)

// pipeClaims are what document 000 says of pipes, judged on this system.
var pipeClaims = []Claim{
	claim("000-pipe-buf", gatherAtomicity, judgePipeBuf),
	claim("000-capacity", gatherLargeWrite, judgeCapacity),
	claim("000-write-blocks", gatherLargeWrite, judgeWriteBlocks),
	claim("000-write-eagain", gatherLargeWrite, judgeEAGAIN),
	claim("000-write-epipe", gatherLargeWrite, judgeEPIPE),
	claim("000-chunks-avoid-blocking", gatherChunkedWrite, judgeChunkedWrite),
	claim("000-60k-leaves-room", gatherRoom, judgeRoom),
}

// An Atomicity is the evidence of 000-pipe-buf.
type Atomicity struct {
	OS       string                     `json:"os"`
	PipeBuf  int                        `json:"pipe_buf"` // as the system's headers have it
	Mixtures []faults.InterleavedWrites `json:"mixtures"` // ascending by size
}

func gatherAtomicity(ctx context.Context, s *session) (Atomicity, error) {
	return once(s, "writers that share a pipe", func() (Atomicity, error) {
		e := Atomicity{OS: runtime.GOOS}
		if err := syspipe.Blocking.Supported(); err != nil {
			return e, err
		}
		for _, size := range []int{512, 513, 3000, 4096, 4097, 5000} {
			m, err := faults.CountCutWrites(ctx, size)
			if err != nil {
				return e, err
			}
			e.Mixtures = append(e.Mixtures, *m)
			e.PipeBuf = m.PipeBuf
		}
		return e, nil
	})
}

// judgePipeBuf looks at the shortest write that was cut.
func judgePipeBuf(e Atomicity) finding {
	whole := 0 // bytes of the longest write below those that were cut
	var cut *faults.InterleavedWrites
	for i, m := range e.Mixtures {
		if m.Cut != 0 {
			cut = &e.Mixtures[i]
			break
		}
		whole = m.Size
	}
	f := finding{figure: fmt.Sprintf("%d B whole", whole)}
	if cut == nil {
		f.verdict = Depends
		return f
	}
	f.figure += fmt.Sprintf(", %d B cut %d times in %d", cut.Size, cut.Cut, cut.Writes)
	f.names = fmt.Sprintf("%d on %s", e.PipeBuf, e.OS)
	switch {
	case cut.Size <= 512:
		f.outcome = outcome{Refuted, "512 cut"}
	case cut.Size > 4096:
		f.outcome = outcome{Refuted, "4096 whole"}
	default:
		f.verdict = Holds
	}
	return f
}

// A LargeWrite is the evidence of the claims on writes that are larger than a pipe.
type LargeWrite struct {
	OS       string `json:"os"`
	PageSize int    `json:"page_size"`

	// Writes that nobody reads: of 4096 bytes each, until one waits; one of 65537 bytes, blocking
	// and non-blocking; and one of 1 byte, non-blocking, into a full pipe. The latter two are
	// absent where the system has no such mode.
	Fill     Stall  `json:"fill"`
	Block    Stall  `json:"block"`
	NonBlock *Stall `json:"non_block"`
	OneMore  *Stall `json:"one_more"`

	// The error of a write, empty if it succeeded, and whether it is EPIPE: of 65537 bytes with a
	// reader at work, of 65537 bytes and of 1 byte with the reader gone.
	Read     string `json:"read"`
	Gone     string `json:"gone"`
	GoneOne  string `json:"gone_one"`
	ReadPipe bool   `json:"read_epipe"`
	GonePipe bool   `json:"gone_epipe"`
	OnePipe  bool   `json:"one_epipe"`
}

const overCapacity = 64<<10 + 1

func gatherLargeWrite(_ context.Context, s *session) (LargeWrite, error) {
	return once(s, "writes beyond what a pipe holds", func() (LargeWrite, error) {
		e := LargeWrite{OS: runtime.GOOS, PageSize: os.Getpagesize()}
		if err := e.writeUnread(); err != nil {
			return e, err
		}
		if err := e.writeNonBlocking(); err != nil {
			return e, err
		}
		return e, e.writeToReaders()
	})
}

// writeUnread makes blocking writes to pipes that nobody reads.
func (e *LargeWrite) writeUnread() error {
	fill := func(w io.Writer) error {
		write := writeBytes(4096)
		for {
			if err := write(w); err != nil {
				return err
			}
		}
	}
	var err error
	e.Fill, err = writeUnread(syspipe.Poller, 0, fill)
	if err != nil {
		return err
	}
	e.Block, err = writeUnread(syspipe.Poller, overCapacity, writeBytes(overCapacity))
	return err
}

// writeNonBlocking makes non-blocking writes to pipes that nobody reads, if the system has them.
func (e *LargeWrite) writeNonBlocking() error {
	if syspipe.Poll.Supported() != nil {
		return nil
	}
	large, err := writeUnread(syspipe.Poll, overCapacity, writeBytes(overCapacity))
	if err != nil {
		return err
	}
	e.NonBlock = &large
	fillAndOneMore := func(w io.Writer) error {
		return errors.Join(writeBytes(64<<10)(w), writeBytes(1)(w))
	}
	oneMore, err := writeUnread(syspipe.Poll, 64<<10+1, fillAndOneMore)
	if err != nil {
		return err
	}
	e.OneMore = &oneMore
	return nil
}

// writeToReaders writes with a reader at work, and with one that has left.
func (e *LargeWrite) writeToReaders() error {
	read, err := writeTo(true, overCapacity)
	if err != nil {
		return err
	}
	e.Read = faults.ErrorText(read)
	e.ReadPipe = errors.Is(read, syscall.EPIPE)
	gone, err := writeTo(false, overCapacity)
	if err != nil {
		return err
	}
	e.Gone = faults.ErrorText(gone)
	e.GonePipe = errors.Is(gone, syscall.EPIPE)
	one, err := writeTo(false, 1)
	if err != nil {
		return err
	}
	e.GoneOne = faults.ErrorText(one)
	e.OnePipe = errors.Is(one, syscall.EPIPE)
	return nil
}

// writeTo writes size bytes with a reader at work, or with one that has left. It returns the error
// of the write as met; err means that nothing was written.
func writeTo(reader bool, size int) (met, err error) {
	w, r, err := faults.OpenPipe(syspipe.Anonymous)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	defer w.Close()
	if err := faults.PollEnds(w, r); err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	if reader {
		reading.Go(func() { io.Copy(io.Discard, r) })
	} else {
		r.Close()
	}
	_, met = w.Write(make([]byte, size))
	w.Close()
	reading.Wait()
	return met, nil
}

func judgeCapacity(e LargeWrite) finding {
	return finding{
		outcome: holdsIf(e.Fill.Accepted == 64<<10),
		figure:  fmt.Sprintf("%d B accepted, pages of %d B", e.Fill.Accepted, e.PageSize),
	}
}

func judgeWriteBlocks(e LargeWrite) finding {
	return finding{
		outcome: holdsIf(e.Block.Stalled),
		figure:  fmt.Sprintf("%d of %d B accepted", e.Block.Accepted, e.Block.Offered),
	}
}

func judgeEAGAIN(e LargeWrite) finding {
	if e.NonBlock == nil {
		return finding{outcome: outcome{Refuted, "no such mode"}}
	}
	large := *e.NonBlock
	f := finding{
		figure: fmt.Sprintf("first %d of %d B, then EAGAIN", large.Accepted, large.Offered),
	}
	oneMoreToo := e.OneMore != nil && e.OneMore.EAGAIN > 0
	switch {
	case large.Accepted == 0 && large.EAGAIN > 0:
		f.verdict = Holds
	case large.EAGAIN == 0:
		f.outcome = outcome{Refuted, "never"}
	case oneMoreToo:
		f.outcome = outcome{Depends, "one byte too"}
	default:
		f.outcome = outcome{Depends, "large ones"}
	}
	return f
}

func judgeEPIPE(e LargeWrite) finding {
	switch {
	case e.ReadPipe:
		return finding{
			outcome: outcome{verdict: Holds}, figure: "EPIPE with a reader at work", names: e.Read,
		}
	case e.OnePipe && e.GonePipe:
		return finding{
			outcome: outcome{verdict: Refuted},
			figure:  "EPIPE for 65537 B and for 1 B, without a reader",
		}
	}
	return finding{outcome: outcome{verdict: Depends}, names: e.Gone}
}

// A ChunkedWrite is the evidence of 000-chunks-avoid-blocking.
type ChunkedWrite struct {
	Bare    Stall `json:"bare"`
	Chunked Stall `json:"chunked"`
}

func gatherChunkedWrite(context.Context, *session) (ChunkedWrite, error) {
	var e ChunkedWrite
	chunked, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	msg := message(1 << 20)
	size := int64(len(msg))
	e.Bare, err = writeUnread(syspipe.Poller, size, sending(framers.NDJSON(), msg))
	if err != nil {
		return e, err
	}
	e.Chunked, err = writeUnread(syspipe.Poller, size, sending(chunked, msg))
	return e, err
}

func judgeChunkedWrite(e ChunkedWrite) finding {
	f := finding{figure: fmt.Sprintf("stuck after %s in chunks, %s as a line",
		faults.Size(e.Chunked.Accepted), faults.Size(e.Bare.Accepted))}
	switch {
	case e.Chunked.Stalled:
		f.verdict = Refuted
	case e.Bare.Stalled:
		f.verdict = Holds
	default:
		f.verdict = Depends
	}
	return f
}

// A Room is the evidence of 000-60k-leaves-room.
type Room struct {
	Data   int   `json:"data"`   // bytes of the message that the frame carries
	Header int   `json:"header"` // bytes before them, and the newline after
	Frame  Stall `json:"frame"`  // writing it to an empty pipe
}

func gatherRoom(context.Context, *session) (Room, error) {
	// The longest header within the limits of the format: 2³¹-1 frames.
	header := fmt.Sprintf("%036d:%d:%d:\n", 0, 1<<31-2, 1<<31-1)
	e := Room{Data: 60 << 10, Header: len(header)}
	size := e.Data + e.Header
	var err error
	e.Frame, err = writeUnread(syspipe.Poller, int64(size), writeBytes(size))
	return e, err
}

func judgeRoom(e Room) finding {
	size := e.Data + e.Header
	fits := size <= 64<<10 && !e.Frame.Stalled && e.Frame.Accepted == int64(size)
	return finding{
		outcome: holdsIf(fits),
		figure:  fmt.Sprintf("%d + %d = %d B", e.Data, e.Header, size),
		names:   fmt.Sprint(64<<10 - size),
	}
}

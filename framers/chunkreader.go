package framers

import (
	"io"
	"time"
)

// A Chunk is one frame of a message. Its slices are valid until the next call of the reader.
type Chunk struct {
	ID    []byte // nil for a bare line of the adaptive framing
	Index int
	Total int
	Data  []byte
}

// A ChunkReader is what the Readers of the chunking framings are beside a Reader. Take messages or chunks from a stream,
// not both.
type ChunkReader interface {
	Reader
	// ReadChunk returns the next chunk as soon as it is whole, of whatever message. It checks the frame, and leaves order,
	// duplicates and completeness to the caller.
	ReadChunk() (Chunk, error)
	// Reset drops the incomplete messages and returns how many there were. A frame under way is received to its end.
	Reset() int
	// InFlight returns how many incomplete messages are held, and the bytes that count against WithMaxInFlight for them.
	InFlight() (messages, bytes int)
}

// Where a chunkReader is in the stream.
type stage int

const (
	atHeader stage = iota // at the beginning of a line, or inside a header
	atRoute               // behind a header
	inData                // inside the data of a frame
	inWaste               // inside the data of a frame that is dropped
	inLine                // inside a bare line
)

// A chunkReader receives frames and assembles messages.
//
// A message whose frames come one after another is assembled where it was read: the data of each frame is moved down
// over the header before it. And as a frame's size is known from the first frame, reads can end where the next header
// ends: its data then is read over that header, to its place in the message, and nothing is moved at all.
//
//	base            fin
//	 | data 0 data 1 | newline header 2 |          <- the next read begins at fin
//
// A frame of another message in between moves what there is of this one to an assembly.
type chunkReader struct {
	lines   lineReader // holds the inlet, and receives the bare lines
	set     settings
	size    int  // what a frame is taken to be bounded by until one has been seen
	bare    bool // lines that are no frames are messages
	stage   stage
	frame   chunkHeader
	got     int       // bytes of data of the frame
	offset  int64     // where in the stream the frame begins
	to      *assembly // whose chunk the frame is; nil: of the message at buf[base:fin]
	fin     int       // end of that message in the buffer
	run     run
	flights assemblies
	lent    *assembly // was delivered; taken back at the next call
}

// A run is a message that is assembled in the buffer.
type run struct {
	active  bool
	id      chunkID
	total   int
	next    int   // chunks there are
	frame   int   // bytes of a full frame
	offset  int64 // of its first frame in the stream
	touched time.Time
}

// directFrom is the frame size from which reads end with a header: below, moving the data costs less than more reads.
const directFrom = 16 << 10

func newChunkReader(r io.Reader, size int, bare bool, s settings) *chunkReader {
	in := newInlet(r, &s)
	return &chunkReader{
		lines: lineReader{in: in, set: s}, set: s, size: size, bare: bare,
		flights: assemblies{top: max(s.maxMessage, 1)},
	}
}

func (r *chunkReader) ReadMessage() ([]byte, error) {
	r.takeBack()
	for {
		if err := r.arrive(true); err != nil {
			return nil, err
		}
		if r.stage == inLine {
			if msg, err := r.line(); err != nil || msg != nil {
				return msg, err
			}
			continue
		}
		if err := r.data(); err != nil {
			return nil, err
		}
		if msg, whole := r.file(); whole {
			return msg, nil
		}
	}
}

func (r *chunkReader) ReadChunk() (Chunk, error) {
	r.takeBack()
	for {
		if err := r.arrive(false); err != nil {
			return Chunk{}, err
		}
		if r.stage == inLine {
			if msg, err := r.line(); err != nil || msg != nil {
				return Chunk{Total: 1, Data: msg}, err
			}
			continue
		}
		if err := r.data(); err != nil {
			return Chunk{}, err
		}
		in := &r.lines.in
		c := r.chunk()
		in.next(in.pos)
		r.stage = atHeader
		return c, nil
	}
}

// chunk returns the frame whose data has come.
func (r *chunkReader) chunk() Chunk {
	data := r.lines.in.buf[r.fin-r.got : r.fin : r.fin]
	return Chunk{ID: r.frame.id.bytes(), Index: r.frame.index, Total: r.frame.total, Data: data}
}

func (r *chunkReader) Reset() int {
	n, _ := r.InFlight()
	partial := r.run.active || r.to != nil // what is in the buffer belongs to a message dropped
	if r.stage == inData && partial {
		r.stage = inWaste
	}
	if partial {
		r.lines.in.base, r.fin = r.lines.in.pos, r.lines.in.pos
	}
	r.run.active, r.to = false, nil
	r.flights = assemblies{top: r.flights.top}
	return n
}

func (r *chunkReader) InFlight() (messages, bytes int) {
	for _, a := range r.flights.list {
		if !a.dropped {
			messages++
		}
	}
	bytes = r.flights.bytes
	if r.run.active {
		messages++
		bytes += r.fin - r.lines.in.base
	}
	return messages, bytes
}

func (r *chunkReader) takeBack() {
	if r.lent != nil {
		r.flights.recycle(r.lent)
		r.lent = nil
	}
}

// arrive brings the stream to where data of a frame, or a bare line, is received.
func (r *chunkReader) arrive(assemble bool) error {
	if r.lines.broken != nil {
		return r.lines.broken
	}
	for {
		switch r.stage {
		case inData, inLine:
			return nil
		case inWaste:
			if err := r.waste(); err != nil {
				return err
			}
		case atRoute:
			if err := r.route(assemble); err != nil {
				return err
			}
		case atHeader:
			if err := r.header(); err != nil {
				return err
			}
		}
	}
}

// fill reads. What it reads comes behind pos; fin stays where it is in the message.
func (r *chunkReader) fill(limit int) error {
	in := &r.lines.in
	length := r.fin - in.base
	if length > keepAssembly {
		r.flights.yield() // the buffer is to grow as large
	}
	err := in.fill(limit)
	r.fin = in.base + length
	return err
}

// header receives the header of a frame.
func (r *chunkReader) header() error {
	in := &r.lines.in
	if r.lines.skipping {
		if err := in.skipLine(); err != nil {
			return r.end(err)
		}
		r.lines.skipping = false
	}
	if !r.run.active {
		in.base, r.fin = in.pos, in.pos
	}
	for {
		switch r.frame.parse(in.buf[in.pos:in.end], r.bare) {
		case aChunk:
			r.offset = in.offset(in.pos)
			in.pos += r.frame.length
			r.got = 0
			r.stage = atRoute
			return nil
		case noChunk:
			return r.other()
		}
		if err := r.fill(r.headerRest()); err != nil {
			return r.end(err)
		}
	}
}

// headerRest returns how much of the header expected is to come, or 0 where none is.
func (r *chunkReader) headerRest() int {
	if !r.direct() {
		return 0
	}
	in := &r.lines.in
	return max(headerBytes(int(r.run.id.n), r.run.next, r.run.total)-(in.end-in.pos), 0)
}

// shortID is how many hexadecimal digits a stream of the adaptive framing may end with to be a bare line that lacks its
// newline. One more is the dash of a UUID: a frame that was cut. So are fewer while a message is incomplete.
const shortID = 8

// end judges an error at or inside a header. At the end of the stream, messages that are incomplete are reported first.
func (r *chunkReader) end(err error) error {
	in := &r.lines.in
	if err != io.EOF {
		return err
	}
	expecting := r.run.active || len(r.flights.list) > 0
	if r.bare && !expecting && in.pos < in.end && in.end-in.pos <= shortID {
		return r.other()
	}
	if in.pos < in.end {
		return io.ErrUnexpectedEOF
	}
	if missing := r.incomplete(func(time.Time) bool { return true }, ErrMissing); missing != nil {
		return missing
	}
	return err
}

// incomplete drops the first message that is old, and returns the error about it.
func (r *chunkReader) incomplete(old func(touched time.Time) bool, why error) error {
	for i := 0; i < len(r.flights.list); i++ {
		a := r.flights.list[i]
		if !old(a.touched) {
			continue
		}
		r.flights.forget(a)
		i--
		if !a.dropped {
			return &ChunkError{Offset: a.offset, ID: a.id.String(), Index: a.next, Total: a.total, Received: a.received, Err: why}
		}
	}
	if c := &r.run; c.active && old(c.touched) {
		c.active = false
		r.lines.in.base = r.lines.in.pos
		r.fin = r.lines.in.pos
		return &ChunkError{Offset: c.offset, ID: c.id.String(), Index: c.next, Total: c.total, Received: c.next, Err: why}
	}
	return nil
}

// other takes a line that is no frame: a message, a blank line, or an error.
func (r *chunkReader) other() error {
	in := &r.lines.in
	r.spill()
	in.base = in.pos
	r.fin = in.pos
	if r.bare {
		r.stage = inLine
		return nil
	}
	end := indexNewline(in.held())
	for end < 0 && in.end-in.base < excerptBytes {
		err := in.fill(0)
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		end = indexNewline(in.held())
	}
	text := in.held()
	if end >= 0 {
		text = text[:end]
	}
	in.pos = in.base
	r.lines.skipping = true
	if len(trim(text)) == 0 && end >= 0 {
		return nil
	}
	return &ChunkError{Offset: in.offset(in.base), Line: excerpt(text), Err: ErrMalformed}
}

// line receives a bare line. It returns nil for a blank one that is skipped.
func (r *chunkReader) line() ([]byte, error) {
	line, err := r.lines.line()
	if err != nil {
		if r.lines.skipping || r.lines.in.base == r.lines.in.pos {
			r.stage = atHeader
		}
		return nil, err
	}
	r.stage = atHeader
	r.flights.pass()
	if r.set.verbatim {
		return line, nil
	}
	if line = trim(line); len(line) == 0 {
		return nil, nil
	}
	return line, nil
}

// route decides where the data of the frame goes.
func (r *chunkReader) route(assemble bool) error {
	f := &r.frame
	if f.index >= f.total {
		return r.reject(ErrIndex, 0)
	}
	if !assemble {
		r.spill()
		r.begin(nil)
		return nil
	}
	var now time.Time
	if f.total > 1 || r.run.active || len(r.flights.list) > 0 {
		now = r.set.now()
		if err := r.expire(now); err != nil {
			return err
		}
	}
	if r.run.active {
		if same, err := r.proceed(now); same || err != nil {
			return err
		}
		r.spill()
	}
	return r.assign(now)
}

// expire drops a message of which no chunk has come for too long.
func (r *chunkReader) expire(now time.Time) error {
	if r.set.expiry <= 0 {
		return nil
	}
	oldest := now.Add(-r.set.expiry)
	return r.incomplete(func(t time.Time) bool { return t.Before(oldest) }, ErrExpired)
}

// proceed reports whether the frame is the next one of the run.
func (r *chunkReader) proceed(now time.Time) (bool, error) {
	f, c := &r.frame, &r.run
	switch {
	case f.id != c.id:
		return false, nil
	case f.total != c.total:
		return false, r.reject(ErrTotal, c.next)
	case f.index < c.next:
		return false, r.reject(ErrDuplicate, c.next)
	case f.index > c.next:
		return false, nil
	}
	c.touched = now
	r.to = nil
	r.stage = inData
	return true, nil
}

// assign finds or makes the message that the frame belongs to.
func (r *chunkReader) assign(now time.Time) error {
	f := &r.frame
	a := r.flights.find(&f.id)
	switch {
	case a == nil && f.total == 1:
		r.begin(nil)
	case a == nil && len(r.flights.list) >= r.set.flightMessages:
		return r.reject(ErrInFlight, 0)
	case a == nil && f.index == 0:
		r.run = run{active: true, id: f.id, total: f.total, frame: r.size, offset: r.offset, touched: now}
		r.begin(nil)
	case a == nil:
		r.begin(r.flights.add(&f.id, f.total, r.offset, now))
	case a.total != f.total:
		return r.reject(ErrTotal, a.received)
	case a.dropped:
		r.begin(a)
		r.stage = inWaste
	case a.has(f.index):
		return r.reject(ErrDuplicate, a.received)
	default:
		a.touched = now
		r.begin(a)
	}
	return nil
}

// begin receives data: a message begins here in the buffer, or a chunk for to.
func (r *chunkReader) begin(to *assembly) {
	in := &r.lines.in
	in.base, r.fin = in.pos, in.pos
	r.to = to
	r.stage = inData
}

// spill moves the message in the buffer to an assembly.
func (r *chunkReader) spill() {
	c := &r.run
	if !c.active {
		return
	}
	c.active = false
	a := r.flights.add(&c.id, c.total, c.offset, c.touched)
	in := &r.lines.in
	r.flights.store(a, 0, in.buf[in.base:r.fin])
	a.received, a.next = c.next, c.next
}

// reject drops the frame whose header has come.
func (r *chunkReader) reject(why error, received int) error {
	f := &r.frame
	r.spill()
	r.begin(nil)
	r.stage = atHeader
	r.lines.skipping = true
	return &ChunkError{Offset: r.offset, ID: f.id.String(), Index: f.index, Total: f.total, Received: received, Err: why}
}

// data receives the rest of a frame's data, to its place in the message.
func (r *chunkReader) data() error {
	in := &r.lines.in
	for {
		n := indexNewline(in.buf[in.pos:in.end])
		ended := n >= 0
		if !ended {
			n = in.end - in.pos
		}
		if in.pos != r.fin {
			copy(in.buf[r.fin:], in.buf[in.pos:in.pos+n])
		}
		r.fin += n
		r.got += n
		in.pos += n
		if err := r.bounded(); err != nil {
			return err
		}
		if ended {
			in.pos++
			return nil
		}
		in.pos, in.end = r.fin, r.fin
		if err := r.fill(r.dataRest()); err != nil {
			return inside(err)
		}
		r.fin = in.pos
	}
}

// direct reports whether reads should end with a header: not where so little is to come that a read may well get it all.
func (r *chunkReader) direct() bool {
	c := &r.run
	return c.active && c.frame >= directFrom && int64(c.total-c.next-1)*int64(c.frame) >= int64(r.lines.in.size)
}

// dataRest returns how much to read so that the read ends with the next header, or 0 where that cannot be known.
func (r *chunkReader) dataRest() int {
	f := &r.frame
	rest := r.run.frame - f.length - 1 - r.got
	if rest <= 0 || r.to != nil || !r.direct() {
		return 0
	}
	return rest + 1 + headerBytes(int(f.id.n), f.index+1, f.total)
}

// bounded returns an error, and drops the message, if it exceeds what may be held. Of two limits it exceeds, the one it
// is further beyond was passed first: both count the same bytes, and one read may bring them all.
func (r *chunkReader) bounded() error {
	in := &r.lines.in
	came := r.fin - in.base
	size, flying := came, 0
	if r.to != nil {
		size += r.to.size()
	}
	if r.frame.total > 1 && (r.run.active || r.to != nil) {
		flying = r.flights.bytes + came
	}
	large, crowded := size-r.set.maxMessage, flying-r.set.flightBytes
	switch {
	case large > 0 && large >= crowded:
		return r.tooLarge()
	case crowded > 0:
		return r.tooMany()
	}
	return nil
}

func (r *chunkReader) tooLarge() error {
	err := tooLong(r.prefix(), r.set.maxMessage, r.start())
	r.abandon()
	if r.set.policy == Close {
		r.lines.broken = err
	}
	return err
}

func (r *chunkReader) tooMany() error {
	f := &r.frame
	err := &ChunkError{Offset: r.offset, ID: f.id.String(), Index: f.index, Total: f.total, Received: r.received(), Err: ErrInFlight}
	r.abandon()
	return err
}

// prefix returns the beginning of the message that the frame belongs to, as far as it has come in order.
func (r *chunkReader) prefix() []byte {
	in := &r.lines.in
	data := in.buf[in.base:r.fin]
	if r.to == nil {
		return data
	}
	b := head(r.to.data, len(r.to.data))
	if r.to.next == r.frame.index && len(r.to.ahead) == 0 {
		b = append(b, head(data, len(data))...)
	}
	return b
}

// start returns where in the stream the message of the frame begins.
func (r *chunkReader) start() int64 {
	switch {
	case r.to != nil:
		return r.to.offset
	case r.run.active:
		return r.run.offset
	}
	return r.offset
}

// received counts the chunks of the frame's message that came before it.
func (r *chunkReader) received() int {
	if r.to != nil {
		return r.to.received
	}
	return r.run.next
}

// abandon drops the message of the frame under way, and remembers it so that its other chunks can be dropped too.
func (r *chunkReader) abandon() {
	if r.run.active {
		c := &r.run
		c.active = false
		r.to = r.flights.add(&c.id, c.total, c.offset, c.touched)
		r.to.received = c.next
	}
	if r.to != nil {
		r.flights.empty(r.to)
	}
	r.lines.in.base = r.lines.in.pos
	r.fin = r.lines.in.pos
	r.stage = inWaste
}

// waste drops the rest of a frame of a message that is dropped.
func (r *chunkReader) waste() error {
	if err := r.lines.in.skipLine(); err != nil {
		return inside(err)
	}
	r.fin = r.lines.in.base
	if r.to != nil {
		if r.to.received++; r.to.received >= r.to.total {
			r.flights.forget(r.to)
			r.to = nil
		}
	}
	r.stage = atHeader
	return nil
}

// file puts the chunk whose data has come into its message, and returns the message if it is whole.
func (r *chunkReader) file() (msg []byte, whole bool) {
	in := &r.lines.in
	if r.set.progress != nil {
		r.set.progress(r.chunk())
	}
	r.stage = atHeader
	if r.to != nil {
		return r.fileApart()
	}
	if r.run.active {
		if r.run.next == 0 {
			r.run.frame = r.frame.length + r.got + 1
		}
		if r.run.next++; r.run.next < r.run.total {
			return nil, false
		}
		r.run.active = false
	}
	msg = in.buf[in.base:r.fin:r.fin]
	in.next(in.pos)
	r.flights.pass()
	return msg, true
}

func (r *chunkReader) fileApart() (msg []byte, whole bool) {
	in, a := &r.lines.in, r.to
	r.flights.store(a, r.frame.index, in.buf[in.base:r.fin])
	in.next(in.pos)
	r.to = nil
	if a.received < a.total {
		return nil, false
	}
	r.flights.forget(a)
	r.lent = a
	return a.data, true
}

package framers

import "bytes"

// A chunkID is a message's id, comparable and without a pointer.
type chunkID struct {
	n uint8
	b [maxIDBytes]byte
}

// set makes the id text. Nearly all are UUIDs, which are copied by a few instructions and not by calls.
func (id *chunkID) set(text []byte) {
	if len(text) == uuidBytes && id.n == uuidBytes {
		*(*[uuidBytes]byte)(id.b[:]) = [uuidBytes]byte(text)
		return
	}
	id.n = uint8(len(text))
	clear(id.b[copy(id.b[:], text):])
}

func (id *chunkID) bytes() []byte  { return id.b[:id.n] }
func (id *chunkID) String() string { return string(id.bytes()) }

// A chunkHeader is what stands before the data of a frame.
type chunkHeader struct {
	id           chunkID
	index, total int
	length       int // bytes of the header itself
}

// What the beginning of a line is.
type verdict int

const (
	undecided verdict = iota // more bytes must come
	aChunk
	noChunk
)

// parse reads the header that b begins with. With uuid set, the id must be a UUID of 36 characters.
func (h *chunkHeader) parse(b []byte, uuid bool) verdict {
	n, v := idBytes(b, uuid)
	if v != aChunk {
		return v
	}
	at := n + 1
	for _, field := range [...]*int{&h.index, &h.total} {
		used, v := number(b[at:], field)
		if v != aChunk {
			return v
		}
		at += used + 1
	}
	h.length = at
	h.id.set(b[:n])
	return aChunk
}

// idBytes returns how long the id is that b begins with, a colon being behind it.
func idBytes(b []byte, uuid bool) (int, verdict) {
	seen := b[:min(len(b), maxIDBytes+1)]
	n := bytes.IndexByte(seen, ':')
	id := seen
	if n >= 0 {
		id = seen[:n]
	}
	switch {
	case bytes.IndexByte(id, '\n') >= 0, n == 0, uuid && !uuidPrefix(id):
		return 0, noChunk
	case n < 0 && len(seen) <= maxIDBytes:
		return 0, undecided
	case n < 0, uuid && n != uuidBytes:
		return 0, noChunk
	}
	return n, aChunk
}

// uuidPrefix reports whether id is a UUID of 36 characters, of either case, or begins like one.
func uuidPrefix(id []byte) bool {
	if len(id) > uuidBytes {
		return false
	}
	for i, c := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash && c != '-' || !dash && !hexDigit(c) {
			return false
		}
	}
	return true
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// number reads decimal digits and the colon behind them; used counts the digits.
func number(b []byte, to *int) (used int, v verdict) {
	n := int64(0)
	for i, c := range b {
		switch {
		case c == ':' && i > 0 && n <= maxFrames:
			*to = int(n)
			return i, aChunk
		case c < '0' || c > '9' || i == indexDigits:
			return 0, noChunk
		}
		n = n*10 + int64(c-'0')
	}
	return 0, undecided
}

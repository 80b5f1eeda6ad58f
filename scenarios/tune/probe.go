package tune

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// ProbeSize is the length of a probe in bytes: a small message, such as a notification or the
// answer to a ping.
const ProbeSize = 256

// A probe is a line of JSON in which three numbers stand as hexadecimal digits at fixed places:
//
//	{"jsonrpc":"2.0","method":"pipebench/probe","params":{"number":"00000000000003e7","due":"…","sent":"…","fill":"zzz…","again":"00000000000003e7"}}
//
// Its number stands at both ends, so that one that was cut or patched together from two is seen.
type probe struct {
	number uint64
	due    int64 // nanoseconds of the monotonic clock, as is sent
	sent   int64
}

// The last message of a phase says, as its number, how many large ones the reader should have had,
// and, as due, how many probes.
const (
	probeMethod = "pipebench/probe"
	endMethod   = "pipebench/done_"
)

const digitCount = 16

// probeShape is a probe with its digits blank, and where they go.
var probeShape, probePlaces = func() ([]byte, [4]int) {
	blank := strings.Repeat("#", digitCount)
	before := `{"jsonrpc":"2.0","method":"` + probeMethod + `","params":{"number":"` + blank + `","due":"` + blank + `","sent":"` + blank + `","fill":"`
	after := `","again":"` + blank + `"}}`
	shape := []byte(before + strings.Repeat("z", ProbeSize-len(before)-len(after)) + after)
	var places [4]int
	from := 0
	for i := range places {
		from += bytes.Index(shape[from:], []byte(blank))
		places[i] = from
		from += digitCount
	}
	return shape, places
}()

// methodAt is where the method stands, by which probes are told from all else.
var methodAt = bytes.Index(probeShape, []byte(probeMethod))

// newProbes makes n blank probes in one piece of memory.
func newProbes(n int) [][]byte {
	all := bytes.Repeat(probeShape, n)
	out := make([][]byte, n)
	for i := range out {
		out[i] = all[i*ProbeSize : (i+1)*ProbeSize : (i+1)*ProbeSize]
	}
	return out
}

// stamp writes p's numbers into msg.
func (p probe) stamp(msg []byte) {
	var b [digitCount / 2]byte
	for i, v := range [4]uint64{p.number, uint64(p.due), uint64(p.sent), p.number} {
		binary.BigEndian.PutUint64(b[:], v)
		hex.Encode(msg[probePlaces[i]:], b[:])
	}
}

// isProbe tells a probe, or the last message of a phase, from a large message.
func isProbe(msg []byte) bool {
	return len(msg) == ProbeSize && bytes.HasPrefix(msg, probeShape[:methodAt+len("pipebench/")])
}

// isEnd tells the last message of a phase from a probe.
func isEnd(msg []byte) bool { return bytes.HasPrefix(msg[methodAt:], []byte(endMethod)) }

// readProbe reads the numbers of a probe back.
func readProbe(msg []byte) (probe, error) {
	var v [4]uint64
	var b [digitCount / 2]byte
	for i, at := range probePlaces {
		_, err := hex.Decode(b[:], msg[at:at+digitCount])
		if v[i] = binary.BigEndian.Uint64(b[:]); err != nil {
			return probe{}, fmt.Errorf("probe, byte %d: %q are not hexadecimal digits", at, msg[at:at+digitCount])
		}
	}
	if v[0] != v[3] {
		return probe{}, fmt.Errorf("probe with number %d at its head and %d at its tail", v[0], v[3])
	}
	return probe{v[0], int64(v[1]), int64(v[2])}, nil
}

// endOf returns the last message of a phase of so many large messages and probes.
func endOf(large, probes int64) []byte {
	msg := bytes.Clone(probeShape)
	copy(msg[methodAt:], endMethod)
	probe{number: uint64(large), due: probes}.stamp(msg)
	return msg
}

// A probeSet knows which of the probes of a phase have come. They may overtake each other, but each
// comes once.
type probeSet struct {
	seen  []bool
	count int64
}

// add notes a probe, and reports whether it is there for the first time.
func (t *probeSet) add(number uint64) bool {
	if number >= uint64(len(t.seen)) || t.seen[number] {
		return false
	}
	t.seen[number] = true
	t.count++
	return true
}

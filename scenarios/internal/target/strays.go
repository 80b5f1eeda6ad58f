package target

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// Strays are what a server wrote in addition to the answers that we waited for.
type Strays struct {
	mu      sync.Mutex
	unasked int64    // answers that nobody waited for
	ids     []string // of the first of these, each once
	lines   arrivals // lines that are no JSON-RPC
	untaken arrivals // lines and messages since the last takeArrivals
	mixing  chan struct{}
}

// mostIDs is how many ids of answers that nobody waited for are kept.
const mostIDs = 100

// AddUnasked counts an answer that nobody waited for.
func (s *Strays) AddUnasked(id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unasked++
	if len(s.ids) < mostIDs && !slices.Contains(s.ids, string(id)) {
		s.ids = append(s.ids, string(id))
	}
}

// Unasked returns how many answers came that nobody waited for, and their first ids.
func (s *Strays) Unasked() (n int64, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unasked, slices.Clone(s.ids)
}

// arrivals say how many lines or messages came, and how the first, or the last answer, began.
type arrivals struct {
	n       int64
	first   string
	foreign bool   // the first is no JSON-RPC
	cut     int    // bytes of the last that is only the beginning of a JSON object; 0 if none is
	cutID   []byte // the id in the last beginning of an answer; nil for none
	cutEnd  []byte // where that line ends: at most StampDigits bytes
	goesOn  bool   // no header came behind such a beginning, but other text
	mixed   bool   // one has the beginning of another message in it
	refused bool   // one says that the server could not read what it got
	id      string // of the last answer; "" if no answer has an id

	notifications int    // not counted in n
	notification  string // the method of the last
}

// strayText is how many characters of a message are kept.
const strayText = 120

// add counts a line or a message. The parameter foreign says that it is not JSON-RPC.
func (a *arrivals) add(msg []byte, foreign bool) {
	a.n++
	if a.first == "" {
		enough := utf8.UTFMax * (strayText + 1) // so that Truncate sees that there is more
		text := strings.ToValidUTF8(string(msg[:min(len(msg), enough)]), "\uFFFD")
		a.first = view.Truncate(text, strayText)
		a.foreign = foreign
	}
}

// isHalf reports whether the last beginning of an answer has this id.
func (a arrivals) isHalf(id string) bool { return id != "" && string(a.cutID) == id }

// String returns the number of arrivals and the beginning of the first.
func (a arrivals) String() string {
	text := results.FormatCount(int(a.n), "other message")
	if a.foreign {
		text = results.FormatCount(int(a.n), "line") + " without a whole JSON-RPC message"
	}
	if a.first == "" {
		return text
	}
	return text + ": " + a.first
}

// advice is for a server that wrote these in place of an answer.
func (a arrivals) advice() string {
	switch {
	case a.refused:
		return "it could not read the request: does it limit the length of a line " +
			"(readline(n), fgets, a scanner's buffer)? " + AdviceReads
	case a.id != "":
		return "an answer belongs to the request whose id it has: copy the id of the request, " +
			"unchanged and of the same type"
	}
	return "send the answer as one whole message (in MCP one line; MCP and LSP have no chunks), " +
		"with the id of its request"
}

// addLine counts a line that is no JSON-RPC and does not belong on standard output.
func (s *Strays) addLine(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addForeign(line)
	e := jsonrpc.Scan(line)
	if bytes.HasPrefix(line, []byte("{")) && e.End == 0 {
		s.untaken.cut = len(line)
		if e.Result || e.Error {
			s.untaken.cutID = bytes.Clone(e.ID)
			s.untaken.cutEnd = bytes.Clone(line[max(0, len(line)-StampDigits):])
		}
	}
}

// addText counts text that came where a header should begin.
func (s *Strays) addText(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addForeign(text)
	s.untaken.goesOn = s.untaken.cut > 0
}

// addForeign counts a line or text that is no JSON-RPC. The caller holds s.mu.
func (s *Strays) addForeign(text []byte) {
	s.untaken.add(text, true /* foreign */)
	s.lines.add(text, true /* foreign */)
	isMixed := hasBeginning(text)
	s.untaken.mixed = s.untaken.mixed || isMixed
	if isMixed && bytes.HasPrefix(text, []byte("{")) {
		select {
		case s.mixing <- struct{}{}:
		default:
		}
	}
}

// innerBeginning matches the beginning of a message inside another one. In a JSON text, quotes are
// escaped, and an object in an object or a list stands behind one of the excluded characters.
var innerBeginning = regexp.MustCompile(`[^:,\[\s]\{"(jsonrpc|id|result|error)":`)

// hasBeginning reports whether a text that is no message has the beginning of one in it.
func hasBeginning(text []byte) bool {
	return view.HasHeader(text) || innerBeginning.Match(text)
}

// Mixing returns a channel that gets a value when a message came with the beginning of another in
// it, unless one is there already.
func (s *Strays) Mixing() <-chan struct{} { return s.mixing }

// hasHalf reports whether the first half of an answer with this id came as a line of its own.
func (s *Strays) hasHalf(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.untaken.isHalf(id)
}

// isRefusal reports whether a message is an error without an id that says that the server could not
// read what it got.
func isRefusal(m child.Message) bool {
	if m.Envelope.Kind() != jsonrpc.Failure || len(m.Envelope.ID) > 0 {
		return false
	}
	e, ok := errors.AsType[*jsonrpc.Error](decode(m, nil))
	return ok && (e.Code == jsonrpc.CodeParse || e.Code == jsonrpc.CodeInvalidRequest)
}

// addMessage counts a JSON-RPC message that is not the awaited answer, but may be another answer.
func (s *Strays) addMessage(m child.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Envelope.Kind().Answers() {
		s.untaken.first = ""
		s.untaken.id = string(m.Envelope.ID)
	}
	s.untaken.add(m.Raw, false /* foreign */)
	s.untaken.refused = s.untaken.refused || isRefusal(m)
}

// addNotification counts a notification, which may come at any time.
func (s *Strays) addNotification(method []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untaken.notifications++
	s.untaken.notification = string(method)
}

// takeArrivals returns what came since the last call of takeArrivals.
func (s *Strays) takeArrivals() arrivals {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.untaken
	s.untaken = arrivals{}
	return taken
}

// Lines returns how many lines were not JSON-RPC, and the beginning of the first.
func (s *Strays) Lines() (n int64, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.n, s.lines.first
}

// HalfLine returns the length of the last line that was the first half of an object, or 0. At the
// end of the output, a line framing takes an unfinished message for a line.
func (s *Strays) HalfLine() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.untaken.cut)
}

// forgetLines drops the lines that were counted, because they turned out to be messages.
func (s *Strays) forgetLines() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = arrivals{}
}

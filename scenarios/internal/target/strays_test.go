package target

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// An answer with another id says more than what came before it.
func TestAnAnswerIsNamedBeforeOtherMessages(t *testing.T) {
	var s Strays
	for _, text := range []string{
		`{"method":"note"}`, `{"id":7,"result":{}}`, `{"method":"note"}`,
	} {
		s.addMessage(child.Message{Raw: []byte(text), Envelope: jsonrpc.Scan([]byte(text))})
	}
	if got := s.takeArrivals().String(); got != `3 other messages: {"id":7,"result":{}}` {
		t.Errorf("got %q", got)
	}
}

// Characters of several bytes make a text that is cut no shorter, and that it is cut is seen.
func TestAStrayThatIsCutSaysSo(t *testing.T) {
	for _, char := range []string{"x", "ü", "語", "🙂"} {
		var s Strays
		s.addLine([]byte(strings.Repeat(char, strayText)))
		if _, first := s.Lines(); first != strings.Repeat(char, strayText) {
			t.Errorf("%s: a text that fits became %q", char, first)
		}
		s.forgetLines()
		s.addLine([]byte(strings.Repeat(char, 10*strayText)))
		if _, first := s.Lines(); first != strings.Repeat(char, strayText)+"…" {
			t.Errorf("%s: got %q", char, first)
		}
	}
}

func TestAStrayWithoutATextEndsInNoColon(t *testing.T) {
	var a arrivals
	a.add(nil, true /* foreign */)
	if got := a.String(); got != "1 line without a whole JSON-RPC message" {
		t.Errorf("got %q", got)
	}
}

// An error without an id may be about any request, unless its code says that none could be read.
func TestOnlyAnUnreadableMessageIsRefused(t *testing.T) {
	for text, want := range map[string]bool{
		`{"id":null,"error":{"code":-32700,"message":"no JSON"}}`:    true,
		`{"id":null,"error":{"code":-32600,"message":"no request"}}`: true,
		`{"id":null,"error":{"code":-32603,"message":"disk full"}}`:  false,
		`{"id":4,"error":{"code":-32700,"message":"no JSON"}}`:       false,
	} {
		m := child.Message{Raw: []byte(text), Envelope: jsonrpc.Scan([]byte(text))}
		if isRefusal(m) != want {
			t.Errorf("%s: refused: %t", text, !want)
		}
	}
}

// A text is mixed if a message begins where no JSON value may stand. Values in values are usual.
func TestTheBeginningOfAnotherMessageIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0","result":{"text":"aa{"jsonrpc":"2.0","id":2`: true,
		`{"id":1,"jsonrpc":"2.0","result":{"text":"aa{"id":2,"json`:    true,
		`{"result":{"text":"aa{"result":{"text":"bb"},"id":2}`:         true,
		`{"error":{"message":"aa{"error":{"message":"bb"},"id":2}`:     true,
		`{"id":1,"jsonrpc":"2.0","result":{"text":"aa`:                 false,
		`{"jsonrpc":"2.0","result":{"items":[{"id":1},{"id":2}, {"id"`: false,
		`{"jsonrpc":"2.0","result":{"next": {"id":1},"last":{"id":2`:   false,
		`{"jsonrpc":"2.0","result":{"text":"{\"id\":1,\"jsonrpc\":`:    false,
		`got {"id":1}`: false,
	} {
		if hasBeginning([]byte(text)) != want {
			t.Errorf("%s: mixed: %t", text, !want)
		}
	}
}

// An answer without its header is text, and no message that is shorter than announced.
func TestAnAnswerWithoutItsHeaderIsText(t *testing.T) {
	t.Parallel()
	var s Strays
	s.addText([]byte(`{"jsonrpc":"2.0","id":4,"result":{"contents":"x`))
	came := s.takeArrivals()
	if came.n != 1 || came.cut != 0 || lengthText(came, framers.Pending{Length: -1}) != "" {
		t.Errorf("%+v", came)
	}
}

// Package envelope reads of a JSON-RPC message what a program that passes it on needs to know (its id, its method, whether it is an answer)
// without decoding or holding it.
//
//	e := envelope.Of(msg)
//	if e.Kind() == envelope.Reply {
//		finish(string(e.ID))
//	}
//
// A [Scanner] does the same for a message that arrives in pieces, however it was cut, and keeps a few hundred bytes of it at most. It looks at
// the members of the outermost object alone, so an "id" inside a result does not mislead it. It is no validator: what is not JSON is [None] or
// a guess, never a panic.
//
// A Scanner belongs to one goroutine. Neither Of nor a Scanner's Write allocates.
package envelope

// An Envelope is what is known of a message.
type Envelope struct {
	ID     []byte // raw JSON, quotes and all; empty where there is none, or it is longer than 128 bytes
	Method []byte // without its quotes, escapes as they stand; cut at 128 bytes
	Result bool   // there is a member "result"
	Error  bool   // there is a member "error"
	Whole  bool   // the outermost value is an object, and it was closed
}

// A Kind is the part a message plays.
type Kind uint8

const (
	None         Kind = iota // no JSON-RPC message
	Request                  // has a method and an id
	Notification             // has a method and no id
	Reply                    // has a result
	Failure                  // has an error
)

// Kind tells which part the message plays.
func (e Envelope) Kind() Kind {
	switch {
	case !e.Whole:
		return None
	case len(e.Method) > 0 && len(e.ID) > 0:
		return Request
	case len(e.Method) > 0:
		return Notification
	case e.Error:
		return Failure
	case e.Result:
		return Reply
	}
	return None
}

// Answers reports whether the message is a reply or a failure.
func (e Envelope) Answers() bool { k := e.Kind(); return k == Reply || k == Failure }

// Of reads a whole message. The slices of the Envelope are the message's own.
func Of(msg []byte) Envelope {
	var s Scanner
	s.Write(msg)
	e := s.found
	if id := &s.texts[textID]; id.set {
		e.ID = id.of(msg)
	}
	if method := &s.texts[textMethod]; method.set {
		e.Method = method.of(msg)
	}
	return e
}

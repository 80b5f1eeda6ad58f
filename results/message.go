package results

import (
	"encoding/json"
	"time"
)

// LeastStall is the shortest wait of a write that is recorded, in [Message.Stall]. A write that
// does not wait takes less than half of this time.
const LeastStall = 100 * time.Microsecond

// A Message is one message between a client and a server, recorded by the command pipebench tap.
type Message struct {
	Kind string `json:"kind"`
	Run  string `json:"run"`

	Dir    string          `json:"dir"`  // "request" (client to server) or "reply"
	T      int64           `json:"t_ns"` // when it was written; if that waited, its end
	Size   int64           `json:"size"` // message bytes, terminator not counted
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Error  bool            `json:"error,omitempty"`    // the message is an error reply
	Stall  int64           `json:"stall_ns,omitempty"` // how long the message's write waited
	Body   string          `json:"body,omitempty"`
	Exact  []byte          `json:"body_base64,omitempty"` // only of a body that is no UTF-8

	Redacted bool `json:"redacted,omitempty"` // values in the body were overwritten
	Untaken  bool `json:"untaken,omitempty"`  // an answer that came when the client had left
}

func (Message) kind() string  { return KindMessage }
func (m Message) run() string { return m.Run }

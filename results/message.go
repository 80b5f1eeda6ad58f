package results

import (
	"encoding/json"
	"time"
)

// LeastStall is the shortest time that is recorded as a stall. A write that does not wait takes
// less: copying 128 KiB and waking the reader take less than half of it.
const LeastStall = 100 * time.Microsecond

// A Message is one message that tap saw pass.
type Message struct {
	Kind string `json:"kind"`
	Run  string `json:"run"`

	Dir    string          `json:"dir"`  // "request" (client to server) or "reply"
	T      int64           `json:"t_ns"` // from the recording's start to the return of its write
	Size   int64           `json:"size"` // message bytes, terminator not counted
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Error  bool            `json:"error,omitempty"`    // it is an error reply
	Stall  int64           `json:"stall_ns,omitempty"` // how long the other side did not take it
	Body   string          `json:"body,omitempty"`

	Redacted bool `json:"redacted,omitempty"` // values in the body were overwritten
}

func (Message) kind() string  { return KindMessage }
func (m Message) run() string { return m.Run }

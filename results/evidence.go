package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Evidence is what a [Fault] or a [Claim] rests on: a JSON object, kept as its
// text. Each kind of finding has a struct of its own, which lives with the
// experiment that makes it: [NewEvidence] writes that struct once, and
// [Evidence.Decode] gives it back. The empty Evidence is an object without
// fields.
type Evidence string

// NewEvidence returns v, a struct or a map, as it stands in the file. What is no
// JSON object is an error.
func NewEvidence(v any) (Evidence, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write evidence: %w", err)
	}
	var e Evidence
	if err := e.UnmarshalJSON(text); err != nil {
		return "", fmt.Errorf("write evidence of %T: %w", v, err)
	}
	return e, nil
}

// MustEvidence is [NewEvidence] of plain data, which has no error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode gives the evidence back as the type that it was made from; v is a
// pointer to one.
func (e Evidence) Decode(v any) error {
	if err := json.Unmarshal([]byte(e.text()), v); err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	return nil
}

// Fields yields the fields in the order of the file, values as JSON text.
func (e Evidence) Fields() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader([]byte(e.text())))
		_, err := d.Token() // the brace
		for err == nil && d.More() {
			var name json.Token
			var value json.RawMessage
			if name, err = d.Token(); err == nil {
				err = d.Decode(&value)
			}
			if err == nil && !yield(name.(string), value) {
				return
			}
		}
	}
}

// With returns the evidence with one more field, at its end.
func (e Evidence) With(name string, value any) (Evidence, error) {
	field, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return "", fmt.Errorf("write evidence: %w", err)
	}
	if body := strings.TrimSuffix(e.text(), "}"); body != "{" {
		return Evidence(body + "," + string(field[1:])), nil
	}
	return Evidence(field), nil
}

func (e Evidence) text() string {
	if e == "" {
		return "{}"
	}
	return string(e)
}

// MarshalJSON writes the object.
func (e Evidence) MarshalJSON() ([]byte, error) { return []byte(e.text()), nil }

// UnmarshalJSON keeps an object; null is an empty one.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.Equal(text, []byte("null")):
		*e = ""
		return nil
	case !bytes.HasPrefix(text, []byte("{")):
		return errors.New("evidence is no JSON object")
	}
	*e = Evidence(slices.Clone(text))
	return nil
}

// TargetEvidence is what a [Target] rests on. In the file its parts are one flat
// object; the parts that a record does not have are nil.
type TargetEvidence struct {
	*ServerEvidence
	*FailureEvidence
	*SizeEvidence
	*LoadEvidence
	*LimitEvidence
	*GrowthEvidence
	*ReplayEvidence

	// Traffic is there in the record that a recording ends with, and nothing else
	// is: its names in the file are also those of other parts.
	Traffic *TrafficEvidence `json:"-"`
}

// ServerEvidence says how a server was spoken to.
type ServerEvidence struct {
	Spoken     string `json:"spoken,omitempty"` // the protocol with its version
	Framing    string `json:"framing,omitempty"`
	Request    string `json:"request,omitempty"` // what was asked of it
	Pipe       string `json:"pipe,omitempty"`
	Capacity   int    `json:"capacity,omitempty"`       // bytes of its pipes, 0: the system's
	WriteChunk int    `json:"write_chunk,omitempty"`    // bytes of a write, 0: the whole message
	WritePause int64  `json:"write_pause_ns,omitempty"` // between two writes
}

// FailureEvidence is what there is to know about a request that was not served.
type FailureEvidence struct {
	Why          string   `json:"why,omitempty"`
	Advice       string   `json:"advice,omitempty"`
	Accepted     int64    `json:"accepted_bytes,omitempty"`      // of the request, header and terminator among them, taken by the pipe
	UnreadStdin  *int64   `json:"unread_stdin_bytes,omitempty"`  // of them, not read by the server
	UnreadStdout *int64   `json:"unread_stdout_bytes,omitempty"` // written by the server, not read by us
	UnreadStderr *int64   `json:"unread_stderr_bytes,omitempty"` // written by the server to a standard error that is not drained
	Unsent       bool     `json:"unsent,omitempty"`              // the pipe did not take all of the request
	Offset       *int64   `json:"offset,omitempty"`              // of the first wrong byte of the payload
	Partial      int64    `json:"partial_reply_bytes,omitempty"` // that came of an answer which did not come whole
	Probe        string   `json:"probe,omitempty"`               // what a small request met afterwards: "answered", "silent", "not taken", "gone"
	ExitCode     *int     `json:"exit_code,omitempty"`
	Signal       string   `json:"signal,omitempty"`
	CPUNS        *int64   `json:"cpu_ns,omitempty"`     // that the server used over this request
	PeakBytes    *int64   `json:"peak_bytes,omitempty"` // largest resident memory so far
	StderrBytes  int64    `json:"stderr_bytes,omitempty"`
	StderrTail   []string `json:"stderr_tail,omitempty"`
	WaitedNS     int64    `json:"waited_ns,omitempty"`
}

// SizeEvidence says more of messages of one size.
type SizeEvidence struct {
	PayloadBytes   int      `json:"payload_bytes"`
	ReplyBytes     int      `json:"reply_bytes,omitempty"`
	NSPerByte      float64  `json:"ns_per_byte,omitempty"`
	DriverCPUShare *float64 `json:"driver_cpu_share,omitempty"` // of the time, that the load generator's own work took
	ExpectedNS     float64  `json:"expected_ns,omitempty"`      // what the neighbouring sizes suggest, of a size that took far longer
	WarmupMessages int64    `json:"warmup_messages,omitempty"`
}

// LoadEvidence says how requests were sent without waiting for each answer.
type LoadEvidence struct {
	Inflight   int     `json:"inflight"`
	Rate       float64 `json:"rate"` // requests a second; 0 is as fast as they are answered
	OutOfOrder int64   `json:"out_of_order"`
}

// LimitEvidence says how a limit was found.
type LimitEvidence struct {
	Side     string `json:"side"` // "request" or "reply"
	Tried    int    `json:"tried"`
	FailedAt int    `json:"failed_at,omitempty"`
	AtTwice  string `json:"at_twice,omitempty"` // the verdict at twice the limit
	Uneven   []int  `json:"uneven,omitempty"`   // larger sizes that worked
}

// GrowthEvidence says how time grows with size.
type GrowthEvidence struct {
	Slope   float64  `json:"slope"`
	SlopeLo *float64 `json:"slope_lo,omitempty"` // ends of its interval
	SlopeHi *float64 `json:"slope_hi,omitempty"`
	From    int      `json:"from"` // message bytes
	To      int      `json:"to"`
	ShowsAt int      `json:"shows_at"` // the size from which it costs more than half as much again a byte; 0: none
	Points  int      `json:"points"`
}

// ReplayEvidence says how far a recording was replayed.
type ReplayEvidence struct {
	Replayed        int `json:"replayed"` // messages of the recording
	Answered        int `json:"answered"`
	LargestBytes    int `json:"largest_bytes"`
	FailedAtMessage int `json:"failed_at_message,omitempty"` // from 1; 0: none
}

// TrafficEvidence is what passed between a recorded client and its server.
type TrafficEvidence struct {
	ElapsedNS int64            `json:"elapsed_ns"`
	Requests  DirectionTraffic `json:"request"`
	Replies   DirectionTraffic `json:"reply"`
}

// DirectionTraffic is what passed in one direction.
type DirectionTraffic struct {
	Bytes           int64 `json:"bytes"`
	Reads           int64 `json:"reads"`
	Messages        int64 `json:"messages"`
	StalledNS       int64 `json:"stalled_ns"` // how long the other side did not take what there was
	Gaps            int64 `json:"gaps,omitempty"`
	MessagesMissing int64 `json:"messages_missing,omitempty"`
	BodiesLeftOut   int64 `json:"bodies_left_out,omitempty"`
}

// MarshalJSON writes all parts as one object.
func (e TargetEvidence) MarshalJSON() ([]byte, error) {
	if e.Traffic != nil {
		return json.Marshal(e.Traffic)
	}
	type parts TargetEvidence
	return json.Marshal(parts(e))
}

// UnmarshalJSON reads the parts that there are, into those that e has.
func (e *TargetEvidence) UnmarshalJSON(text []byte) error {
	var recorded struct {
		ElapsedNS *int64 `json:"elapsed_ns"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		return err
	}
	if recorded.ElapsedNS != nil {
		return json.Unmarshal(text, &e.Traffic)
	}
	type parts TargetEvidence
	return json.Unmarshal(text, (*parts)(e))
}

// TuneEvidence says more of a chunk size; the Recommendation of the one that is
// recommended is in the file with the rest, as one object.
type TuneEvidence struct {
	Compared    int64 `json:"compared,omitempty"`     // rounds in which the size met the others
	PredictedNS int64 `json:"predicted_ns,omitempty"` // the wait that capacity, chunk and reader rate suggest
	Frame       int   `json:"frame,omitempty"`        // bytes of a frame, where the sender waits between them
	*RecommendationEvidence
}

// RecommendationEvidence says why a chunk size is recommended.
type RecommendationEvidence struct {
	Objective string  `json:"objective,omitempty"`
	Margin    float64 `json:"margin"`         // no other size is worth more by more than this share, with 95 % confidence
	Cost      string  `json:"cost,omitempty"` // the metric that counts as cost
	Alike     []int   `json:"alike"`          // sizes worth as much within 5 %, ascending
	Possible  []int   `json:"possible"`       // sizes that another run may recommend
	Flat      bool    `json:"flat,omitempty"` // the size does not matter
}

package results

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// A Target is one result about a stdio server: how it served messages of one size, what its limits
// are, how its CPU time grows with the size, or what it and a client sent each other.
type Target struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run"`
	Time time.Time `json:"time"`

	Command  []string `json:"command"`
	Protocol string   `json:"protocol"`
	Size     int64    `json:"size,omitempty"` // message bytes, terminator not counted
	Verdict  string   `json:"verdict"`

	// The limits are the sizes in bytes of the largest request and reply that work.
	RequestLimit *int64         `json:"request_limit,omitempty"`
	ReplyLimit   *int64         `json:"reply_limit,omitempty"`
	SearchedTo   *int64         `json:"searched_to,omitempty"` // no limit was found up to this size
	Samples      []Sample       `json:"samples,omitempty"`
	Evidence     TargetEvidence `json:"evidence,omitzero"`
	Warnings     []string       `json:"warnings,omitempty"`
}

// Verdicts of a [Target]. A verdict that is not listed here is a way of failing.
const (
	VerdictOK          = "ok"
	VerdictSlow        = "slow"
	VerdictErrorReply  = "error reply"
	VerdictSuperlinear = "grows faster than linear"
	VerdictNotTried    = "not tried" // a size for which there was no time
	VerdictDeaf        = "deaf"      // lives and answers nothing
	VerdictIgnored     = "ignores methods that it does not know"
	VerdictUnanswered  = "unanswered" // answers other requests, but not this one
	VerdictInFrames    = "in frames"  // the answer is right, and no client of MCP reads it
	VerdictRunning     = "running"    // it is being recorded; see TrafficEvidence for what has come

	// Verdicts that begin so say how the server ended.
	ExitPrefix   = "exit "   // with this code
	SignalPrefix = "signal " // by the signal of this name
)

// Served reports whether the server did what it was asked to do, perhaps slowly.
func (t Target) Served() bool { return t.Verdict == VerdictOK || t.Verdict == VerdictSlow }

// FailsOnCharacters reports whether the server fails only on characters other than ASCII letters
// and digits.
func (t Target) FailsOnCharacters() bool {
	f := t.Evidence.Failure
	return f != nil && f.Characters
}

// Limit returns the limit that t is about, or nil if it is about none.
func (t Target) Limit() *int64 { return cmp.Or(t.RequestLimit, t.ReplyLimit) }

// Ended reports whether the verdict is that the server ended, such as "exit 3" or "signal SIGKILL".
func Ended(verdict string) bool {
	return strings.HasPrefix(verdict, ExitPrefix) || strings.HasPrefix(verdict, SignalPrefix)
}

// LimitOf names the messages that the limit in t is about. A call and its echo have about the same
// size: without a byte of the echo, the call may be what was too large.
func (t Target) LimitOf() string {
	if t.RequestLimit != nil {
		return "requests"
	}
	e, f := t.Evidence.Limit, t.Evidence.Failure
	isEcho := e != nil && e.Call == ""
	hasPart := f != nil && f.Partial > 0
	switch t.Verdict {
	case VerdictErrorReply, VerdictDeaf, VerdictUnanswered:
	default:
		isEcho = isEcho && Ended(t.Verdict)
	}
	if isEcho && !hasPart {
		return "calls of the tool"
	}
	return "replies"
}

// LimitBelow returns the size below which the limit in t is, if the search for it was cut short. It
// returns 0 if the limit is exact.
func (t Target) LimitBelow() float64 {
	e := t.Evidence.Limit
	switch {
	case e == nil || !e.CutShort:
		return 0
	case e.Call != "": // the size that failed is an argument
		return math.Inf(1)
	}
	return float64(e.FailedAt)
}

// RepliesStopped reports whether a search found no limit only because a tool made no larger
// replies, although more was asked for. SearchedTo is then the largest reply.
func (t Target) RepliesStopped() bool {
	e := t.Evidence.Limit
	return t.SearchedTo != nil && e != nil && e.Call != ""
}

// RepliesUntried reports whether no large reply was checked, though the server may give some.
func RepliesUntried(server []Target) bool {
	untried := false
	for _, t := range server {
		if e := t.Evidence.Limit; e != nil && e.Side == "reply" && t.Verdict != VerdictNotTried {
			return false
		}
		s := t.Evidence.Server
		untried = untried || s != nil && (s.SmallReplies || s.Uncompared)
	}
	return untried
}

// TargetEvidence holds what was found out about a [Target]. Parts that do not apply are nil. In
// results.jsonl, the fields of all parts stand in one object.
type TargetEvidence struct {
	Server  *ServerEvidence
	Failure *FailureEvidence
	Size    *SizeEvidence
	Load    *LoadEvidence
	Limit   *LimitEvidence
	Growth  *GrowthEvidence
	Replay  *ReplayEvidence

	// Capacity is the capacity of the server's pipes in bytes, or 0 for the default. If Growth is
	// set, it is the capacity that the system reported.
	Capacity int
	Why      string // the verdict, in words
	Advice   string

	// Traffic is set only in the last record of a recording, and in earlier ones whose verdict is
	// [VerdictRunning]. All other fields are empty then.
	Traffic *TrafficEvidence
}

// flatEvidence is a [TargetEvidence] as it stands in the file.
type flatEvidence struct {
	*ServerEvidence
	*FailureEvidence
	*SizeEvidence
	*LoadEvidence
	*LimitEvidence
	*GrowthEvidence
	*ReplayEvidence

	Capacity int    `json:"capacity,omitempty"`
	Why      string `json:"why,omitempty"`
	Advice   string `json:"advice,omitempty"`
}

// ServerEvidence says how pipebench spoke to a server.
type ServerEvidence struct {
	Spoken  string `json:"spoken,omitempty"` // the protocol with its version
	Framing string `json:"framing,omitempty"`
	Request string `json:"request,omitempty"` // what requests exercised, in words
	Pipe    string `json:"pipe,omitempty"`
	// SmallReplies is set if these requests call no tool of a server that may have some, so that
	// replies stay small. Uncompared is set if they call a tool that does not echo.
	SmallReplies bool `json:"small_replies,omitempty"`
	Uncompared   bool `json:"uncompared,omitempty"`

	// LoggedBytes is the most that a process of the server wrote to standard error so far, or 0 if
	// that is little beside what a pipe holds.
	LoggedBytes int64 `json:"logged_bytes,omitempty"`
	StrayLines  int64 `json:"stray_lines,omitempty"` // on standard output, without a message
	// ExtraAnswers is how many answers nobody waited for, such as a second one to a request.
	ExtraAnswers int64 `json:"extra_answers,omitempty"`
	// BareHeaders is set if LF alone ends lines of its headers.
	BareHeaders bool `json:"bare_headers,omitempty"`
}

// FailureEvidence is what is known about a request that was not served.
type FailureEvidence struct {
	// Accepted is how many bytes of the request the pipe took, header and terminator included.
	// UnreadStdin is how many of these bytes the server did not read.
	Accepted    int64  `json:"accepted_bytes,omitempty"`
	UnreadStdin *int64 `json:"unread_stdin_bytes,omitempty"`
	Question    string `json:"question,omitempty"` // the server's; it was its last message
	// Computed is set if the server computed nearly all the time that an answer was waited for.
	Computed bool `json:"computed,omitempty"`

	// UnreadStdout and UnreadStderr are the bytes that the server wrote and nobody read.
	UnreadStdout *int64 `json:"unread_stdout_bytes,omitempty"`
	UnreadStderr *int64 `json:"unread_stderr_bytes,omitempty"`

	Unsent  bool   `json:"unsent,omitempty"`              // the pipe did not take the whole request
	Offset  *int64 `json:"offset,omitempty"`              // of the first wrong byte in the payload
	Partial int64  `json:"partial_reply_bytes,omitempty"` // bytes received of an incomplete answer

	// Probe says what became of a small request that was sent afterwards: "answered", "silent",
	// "not taken" or "gone".
	Probe string `json:"probe,omitempty"`

	// ServedBefore is how many requests the process had served before.
	ServedBefore int64 `json:"served_before,omitempty"`
	// ServedOfSize is how many requests of this size the server had served, if in a sweep.
	ServedOfSize int64 `json:"served_of_size,omitempty"`
	// SentBefore is how many bytes the process had been sent before.
	SentBefore int64 `json:"sent_before_bytes,omitempty"`
	// AnySize is set if the server also failed when it got only small requests, about as many as it
	// had served before. The size is then not to blame.
	AnySize bool `json:"any_size,omitempty"`
	// SmallBytes is the size of the small requests that were tried; 0: none.
	SmallBytes int64 `json:"small_bytes,omitempty"`
	// WorksAnew is set if a new process answered a request of the same size, and another one a
	// request of twice the size. The size is then not to blame, either.
	WorksAnew bool `json:"works_anew,omitempty"`
	// Characters is set if only requests with characters of several bytes, or such that JSON
	// escapes, fail, and not those of the same size without them.
	Characters bool `json:"characters,omitempty"`

	ExitCode    *int     `json:"exit_code,omitempty"`
	Signal      string   `json:"signal,omitempty"`
	CPUNS       *int64   `json:"cpu_ns,omitempty"`     // CPU time during this request
	PeakBytes   *int64   `json:"peak_bytes,omitempty"` // largest resident memory so far
	StderrBytes int64    `json:"stderr_bytes,omitempty"`
	StderrTail  []string `json:"stderr_tail,omitempty"`
}

// IsOfNoSize reports whether tries after a failure showed that no size was to blame.
func (e *FailureEvidence) IsOfNoSize() bool { return e != nil && (e.AnySize || e.WorksAnew) }

// SizeEvidence says more about messages of one size.
type SizeEvidence struct {
	PayloadBytes int     `json:"payload_bytes"`
	ReplyBytes   int     `json:"reply_bytes,omitempty"`
	NSPerByte    float64 `json:"ns_per_byte,omitempty"`

	// ExpectedNS is the time that the neighbouring sizes suggest. It is set only if this size took
	// much longer.
	ExpectedNS float64 `json:"expected_ns,omitempty"`

	WarmupMessages int64 `json:"warmup_messages,omitempty"`
}

// LoadEvidence says how requests were sent without waiting for each answer.
type LoadEvidence struct {
	Inflight   int     `json:"inflight"`
	Rate       float64 `json:"rate"`         // requests/s; 0: as fast as the server answers
	OutOfOrder int64   `json:"out_of_order"` // answers that came before an earlier one
}

// LimitEvidence says how a limit was found.
type LimitEvidence struct {
	Side     string `json:"side"`                // "request" or "reply"
	FailedAt int    `json:"failed_at,omitempty"` // smallest request or reply that fails

	// Call is the tool that made the replies and its argument that says how much, such as
	// "report rows". Then Asked is the argument for the largest reply that works, and FailedAt is
	// the smallest that fails. Neither need be in bytes. If no size failed, Call is set only if
	// the tool made smaller replies than were to be tried.
	Call  string `json:"call,omitempty"`
	Asked int    `json:"asked,omitempty"`

	AtTwice string `json:"at_twice,omitempty"` // the verdict at twice the limit
	Uneven  []int  `json:"uneven,omitempty"`   // sizes above FailedAt that worked

	CutShort   bool `json:"cut_short,omitempty"`   // there was no time to search on
	Flaky      bool `json:"flaky,omitempty"`       // a second try failed elsewhere, or not at all
	ByRequests bool `json:"by_requests,omitempty"` // the request limit ended the search for replies
}

// GrowthEvidence says how the server's time grows with the size of messages. Slope is computed from
// the server's CPU time if WallSlope is set, and from the elapsed time otherwise.
type GrowthEvidence struct {
	Slope     float64  `json:"slope"`
	SlopeLo   *float64 `json:"slope_lo,omitempty"` // ends of the slope's interval
	SlopeHi   *float64 `json:"slope_hi,omitempty"`
	WallSlope *float64 `json:"wall_slope,omitempty"` // slope of the elapsed time
	From      int      `json:"from"`                 // smallest size, in message bytes
	To        int      `json:"to"`                   // largest size
	// ShowsAt is the smallest size whose cost per byte is at least 1.5 times that of a smaller
	// size. It is 0 if there is none.
	ShowsAt int `json:"shows_at"`
	StepAt  int `json:"step_at,omitempty"` // size at which the time rises in a step; 0: none
	Points  int `json:"points"`            // sizes that the slope rests on
}

// ReplayEvidence says which part of a recording was replayed, and how the server answered.
type ReplayEvidence struct {
	Replayed        int `json:"replayed"` // messages of the recording that were sent
	Answered        int `json:"answered"`
	LargestBytes    int `json:"largest_bytes"`
	FailedAtMessage int `json:"failed_at_message,omitempty"` // counts those to the server; 0: none
	Compared        int `json:"compared,omitempty"`          // answers compared with recorded ones
	Different       int `json:"different,omitempty"`         // compared answers that differ
	Undecided       int `json:"cannot_tell,omitempty"`       // too redacted to be compared
	NotJSON         int `json:"not_json,omitempty"`          // the first such message; 0: none
	// AtEnd says what the server did at the end of its input, such as "exit 0".
	AtEnd string `json:"at_end,omitempty"`
}

// TrafficEvidence says what passed between a recorded client and its server.
type TrafficEvidence struct {
	ElapsedNS    int64            `json:"elapsed_ns"`               // until the server ended
	OutputOpenNS int64            `json:"output_open_ns,omitempty"` // after the server ended
	Requests     DirectionTraffic `json:"request"`
	Replies      DirectionTraffic `json:"reply"`
}

// DirectionTraffic says what passed in one direction.
type DirectionTraffic struct {
	Bytes     int64 `json:"bytes"`
	Reads     int64 `json:"reads"`
	Messages  int64 `json:"messages"`
	StalledNS int64 `json:"stalled_ns"`         // how long writes to the receiver waited
	EndedNS   int64 `json:"ended_ns,omitempty"` // when the sender closed the stream; 0: not known
	// Gaps is how often the recording left out messages because its buffers were full.
	Gaps            int64 `json:"gaps,omitempty"`
	MessagesMissing int64 `json:"messages_missing,omitempty"` // messages in the gaps
	BodiesLeftOut   int64 `json:"bodies_left_out,omitempty"`  // of messages that were too large
	// Announced is the length of a last message of which only Came bytes have come. It is 0 for a
	// line: Came is then how many bytes have come without a newline.
	Announced int64 `json:"announced_bytes,omitempty"`
	Came      int64 `json:"came_bytes,omitempty"`
	// BareHeaders is how many headers had a line that ended with LF alone.
	BareHeaders int64 `json:"bare_headers,omitempty"`
	// Strays is how often text that is no message came in place of a header.
	Strays     int64  `json:"strays,omitempty"`
	FirstStray string `json:"first_stray,omitempty"` // only if bodies are recorded as they are
}

func (Target) kind() string  { return KindTarget }
func (t Target) run() string { return t.Run }

// MarshalJSON writes the fields of all parts as one object.
func (e TargetEvidence) MarshalJSON() ([]byte, error) {
	if e.Traffic != nil { // not in the same object as Server, which has a "request", too
		return json.Marshal(e.Traffic)
	}
	return json.Marshal(flatEvidence{
		ServerEvidence:  e.Server,
		FailureEvidence: e.Failure,
		SizeEvidence:    e.Size,
		LoadEvidence:    e.Load,
		LimitEvidence:   e.Limit,
		GrowthEvidence:  e.Growth,
		ReplayEvidence:  e.Replay,
		Capacity:        e.Capacity,
		Why:             e.Why,
		Advice:          e.Advice,
	})
}

// UnmarshalJSON sets the parts that the object has fields of.
func (e *TargetEvidence) UnmarshalJSON(text []byte) error {
	var recorded struct {
		ElapsedNS *int64 `json:"elapsed_ns"` // only traffic has it
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		return err
	}
	*e = TargetEvidence{}
	if recorded.ElapsedNS != nil {
		return json.Unmarshal(text, &e.Traffic)
	}
	var flat flatEvidence
	if err := json.Unmarshal(text, &flat); err != nil {
		return err
	}
	*e = TargetEvidence{
		Server:   flat.ServerEvidence,
		Failure:  flat.FailureEvidence,
		Size:     flat.SizeEvidence,
		Load:     flat.LoadEvidence,
		Limit:    flat.LimitEvidence,
		Growth:   flat.GrowthEvidence,
		Replay:   flat.ReplayEvidence,
		Capacity: flat.Capacity,
		Why:      flat.Why,
		Advice:   flat.Advice,
	}
	return nil
}

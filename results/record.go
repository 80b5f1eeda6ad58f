package results

import "time"

// Kinds of lines in a results file.
const (
	KindEnvironment = "environment"
	KindMeasurement = "measurement"
	KindProbe       = "probe"
	KindFault       = "fault"
	KindClaim       = "claim"
	KindTarget      = "target"
	KindTune        = "tune"
	KindNoise       = "noise"
	KindMessage     = "message"
)

// A Line is one line of a results file: [Environment], [Record], [Probe],
// [Fault], [Claim], [Target], [Tune], [Noise] or [Message].
type Line interface{ kind() string }

// A Record is a cell, its samples and what there is to say about them.
type Record struct {
	Kind string    `json:"kind"` // "measurement"
	Run  string    `json:"run"`  // the run's environment line has the same
	Time time.Time `json:"time"` // when the cell was finished

	Cell    Cell     `json:"cell"`
	Samples []Sample `json:"samples,omitempty"`

	Verified    *Verified `json:"verified,omitempty"`
	Stopped     string    `json:"stopped,omitempty"`     // why no more samples: "samples", "precision", "max-time", "interrupted", "failed"
	Unsupported string    `json:"unsupported,omitempty"` // why this system cannot run the cell; then there are no samples
	Failed      string    `json:"failed,omitempty"`      // what went wrong in the cell that stopped the run
	Warnings    []string  `json:"warnings,omitempty"`
}

// Verified says how far a cell's messages were checked.
type Verified struct {
	Sequence int64 `json:"sequence"` // messages whose number at head and tail, and whose length, were checked while the clock ran
	Compared int64 `json:"compared"` // messages of an untimed sample of the same seed, every byte compared
	Bytes    int64 `json:"bytes"`    // payload bytes of those
}

func (Record) kind() string { return KindMeasurement }

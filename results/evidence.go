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

// Evidence is what a [Fault] or a [Claim] rests on: a JSON object, kept as its text. Each kind of
// finding has a struct of its own, which lives with the experiment that makes it: [NewEvidence]
// writes that struct once, and [Evidence.Decode] gives it back. The empty Evidence is an object
// without fields.
type Evidence string

// NewEvidence returns v, a struct or a map, as it stands in the file. What is no JSON object is an
// error.
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

// MustEvidence makes evidence of plain data, of which [NewEvidence] has no error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode gives the evidence back as the type that it was made from; v is a pointer to one.
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

// TuneEvidence says more of a chunk size; the Recommendation of the one that is recommended is in
// the file with the rest, as one object.
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

// A Curve is evidence that says more as a picture. It is the field "curve" of a fault's evidence.
type Curve struct {
	Title  string  `json:"title"`
	X      string  `json:"x"` // what the axis shows, with its unit: "message size, B"
	Y      string  `json:"y"`
	Series []Trace `json:"series"`
}

// A Trace is one line of a curve.
type Trace struct {
	Name   string       `json:"name"`
	Points []CurvePoint `json:"points"` // ascending by X
}

// A CurvePoint is known within an interval; an exact one has Low and High equal to Y.
type CurvePoint struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`

	Extrapolated bool `json:"extrapolated,omitempty"` // computed from a fitted slope, not measured
}

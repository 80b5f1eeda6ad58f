package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Evidence is what a [Finding] rests on: a JSON object, kept as its text. Each kind of finding has
// a struct of its own, which lives with the experiment that makes it: [NewEvidence] encodes that
// struct, and [Evidence.Decode] reads it back. The empty Evidence is an object without fields.
type Evidence string

// NewEvidence returns v, which must become a JSON object, as it stands in the file.
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

// MustEvidence is [NewEvidence] for plain data, which cannot fail; it panics on an error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode reads the evidence into v, a pointer to the type that the evidence was made from.
func (e Evidence) Decode(v any) error {
	if err := json.Unmarshal([]byte(e.text()), v); err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	return nil
}

func (e Evidence) text() string { return cmp.Or(string(e), "{}") }

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

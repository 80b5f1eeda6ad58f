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
// a struct of its own, which lives with the experiment that makes it: [NewEvidence] writes that
// struct once, and [Evidence.Decode] gives it back. The empty Evidence is an object without fields.
type Evidence string

// NewEvidence returns v, a struct or a map, as it stands in the file. It is an error if v does not
// make a JSON object.
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

// Decode gives the evidence back as the type that it was made from; v is a pointer to one.
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

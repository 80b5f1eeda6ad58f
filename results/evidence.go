package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Evidence holds the facts that a [Finding] rests on. It is a JSON object, kept as text. Each kind
// of finding has a struct for its facts, defined beside the experiment. [NewEvidence] encodes such
// a struct, and [Evidence.Decode] decodes it. The empty Evidence is an object without fields.
type Evidence string

// NewEvidence encodes v as JSON. It returns an error if the result is not an object.
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

// MustEvidence is [NewEvidence] for data that can always be encoded. It panics on an error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode decodes the evidence into v, a pointer to a value of the type that was encoded.
func (e Evidence) Decode(v any) error {
	if err := json.Unmarshal([]byte(e.text()), v); err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	return nil
}

func (e Evidence) text() string { return cmp.Or(string(e), "{}") }

// MarshalJSON returns the text of the object.
func (e Evidence) MarshalJSON() ([]byte, error) { return []byte(e.text()), nil }

// UnmarshalJSON keeps the text of an object. It reads null as the empty Evidence.
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

package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Evidence holds the facts that a [Finding] rests on, as the text of a JSON object. "" is an object
// without fields. [NewEvidence] encodes a struct, and [Evidence.Decode] decodes it.
type Evidence string

// NewEvidence encodes v as JSON. Anything but an object is an error.
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

// MustEvidence is [NewEvidence], but panics on an error.
func MustEvidence(v any) Evidence {
	e, err := NewEvidence(v)
	if err != nil {
		panic("results: " + err.Error())
	}
	return e
}

// Decode decodes the evidence into v, a pointer to the type that was encoded.
func (e Evidence) Decode(v any) error {
	if err := json.Unmarshal([]byte(e.text()), v); err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	return nil
}

func (e Evidence) text() string { return cmp.Or(string(e), "{}") }

// MarshalJSON returns the text of the object.
func (e Evidence) MarshalJSON() ([]byte, error) { return []byte(e.text()), nil }

// UnmarshalJSON keeps the text of an object, and reads null as "".
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

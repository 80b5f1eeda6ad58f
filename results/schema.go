package results

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schemaText []byte

// FileSchema is the JSON Schema (draft 2020-12) of a line of a results file,
// for readers in other languages. Every line that a [Writer] writes is valid.
func FileSchema() []byte { return slices.Clone(schemaText) }

// Package evidence turns what an experiment found into the fields of a record,
// and back.
//
//	fields, err := evidence.Fields(found)     // what the file holds
//	again, err := evidence.Into[Found](fields) // what a rule judges
//
// Its functions may be called by any number of goroutines.
package evidence

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// Fields are those of evidence of any type that is a JSON object.
func Fields(found any) (results.Evidence, error) { return results.NewEvidence(found) }

// Into gives evidence back as the type it was made from.
func Into[E any](fields results.Evidence) (E, error) {
	var e E
	return e, fields.Decode(&e)
}

// Size is a number of bytes as a person would say it: exact where that is
// short.
func Size(bytes int64) string {
	if bytes < 1<<20 || bytes%(1<<20) == 0 {
		return results.FormatSize(bytes)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

package results

import (
	"fmt"

	"github.com/google/uuid"
)

// NewRun makes the unique name of a run, which its environment line and all
// its records carry. Names sort by the time they were made.
func NewRun() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("name a run: %w", err)
	}
	return id.String(), nil
}

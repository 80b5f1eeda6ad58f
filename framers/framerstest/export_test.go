package framerstest

import "time"

// SetPatience changes how long a check may take, and returns how long it was.
func SetPatience(d time.Duration) time.Duration {
	before := patience
	patience = d
	return before
}

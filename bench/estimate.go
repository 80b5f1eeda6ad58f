package bench

import (
	"errors"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// sampleOverhead is what a sample takes beyond its duration: two processes, their
// buffers and their warm-up. Measured on a machine of two cores.
const sampleOverhead = 14 * time.Millisecond

// Estimate is about how long the plan takes, if its precision is not what
// decides that.
func (p Plan) Estimate() time.Duration {
	sample := p.Duration*11/10 + sampleOverhead
	rehearsal := p.Duration/4 + 2*sampleOverhead
	cells := 0
	for _, c := range p.Cells {
		if Unsupported(c) == nil {
			cells++
		}
	}
	return time.Duration(cells) * (rehearsal + time.Duration(p.Samples)*sample)
}

// IsUnsupported reports whether an error is this machine's refusal of something it
// knows, rather than something that nobody could have.
func IsUnsupported(err error) bool {
	var capacity *syspipe.CapacityError
	return errors.As(err, &capacity) || errors.Is(err, errors.ErrUnsupported)
}

package claims

import (
	"fmt"

	"github.com/pipebench/pipebench/scenarios/failures"
)

// IDs of findings of package failures. The first is only the beginning of such IDs.
const (
	oversized   = "failure/oversized-line/"
	checksLate  = "failure/no-newline/checks-late" // checks only complete lines, as in document 001
	checksEarly = "failure/no-newline/closes"      // checks while it reads the line
)

// limitClaims are the claims of document 001 about its limit on the size of messages.
var limitClaims = []Claim{
	{
		ID:    "001-exact",
		Says:  "A limit of 16 MiB lets 16 MiB pass, and closes at one byte more",
		Needs: []string{oversized + "exact", oversized + "closes"},
		Judge: func(e *Evidence) Judgement {
			const figure = "limit 16777216 B"
			switch {
			case !e.isSound(oversized + "exact"):
				return refuted(figure, "a message of exactly the limit was refused")
			case e.finding(oversized+"closes").Class != failures.Refused:
				return refuted(figure, "the reader went on beyond the limit")
			}
			return holds(figure, "the last byte decides, and nothing is read after it")
		},
	},
	{
		ID:    "001-prevents-allocation",
		Says:  "The limit prevents allocations of 100 MB and more",
		Needs: []string{checksLate, checksEarly},
		Judge: func(e *Evidence) Judgement {
			figure := fmt.Sprintf("checked late: %s; checked while reading: %s",
				e.finding(checksLate).Found, e.finding(checksEarly).Found)
			switch {
			case e.isSound(checksLate):
				return holds(figure, "the memory stayed within the limit")
			case e.isSound(checksEarly):
				return refuted(figure, "as printed the check sees a frame that is in memory "+
					"already; it prevents the decoding, not the allocation")
			}
			return depends(figure, "no check kept the memory within the limit here")
		},
	},
}

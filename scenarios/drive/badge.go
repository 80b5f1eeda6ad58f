package drive

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// Badge is a line of markdown for a server's README: an image that says what was found, by the shields.io service, with the same in words.
func Badge(set *results.Set) string {
	message, color := summary(set)
	if len(set.Targets) == 0 {
		message, color = treated(set.Faults)
	}
	escaped := strings.NewReplacer("-", "--", "_", "__").Replace(message)
	return fmt.Sprintf("![stdio: %s](https://img.shields.io/badge/stdio-%s-%s)", message, url.PathEscape(escaped), color)
}

// summary is the finding in a few words, and the colour it deserves: green for a server that served all, or refuses in words; yellow for one
// that serves less than the 4 MiB that large tool results have, or whose time grows too fast; red for silence and corruption.
func summary(set *results.Set) (message, color string) {
	color = "brightgreen"
	served, limit, limited := int64(0), int64(0), false
	var above, fast string
	for _, t := range set.Targets {
		if n, replay := number(fields(t)["replayed"]); replay {
			message, color = fmt.Sprintf("%.0f messages replayed: %s", n, t.Verdict), "brightgreen"
			if !Verdict(t.Verdict).Works() {
				color = "red"
			}
			return message, color
		}
		switch found := cmp.Or(t.RequestLimit, t.ReplyLimit); {
		case found != nil && (!limited || *found < limit):
			limit, above, limited = *found, t.Verdict, true
		case found != nil: // the other side breaks sooner
		case t.SearchedTo != nil:
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && Verdict(t.Verdict).Works():
			served = max(served, t.Size)
		case t.Size > 0 && above == "":
			above = t.Verdict
		case Verdict(t.Verdict) == Superlinear:
			fast = ", " + t.Verdict
		}
	}
	if !limited {
		limit = served
	}
	message = "ok to " + sizeText(limit)
	switch {
	case limit == 0:
		return "works at no size: " + above, "red"
	case above != "":
		message += ", then " + above
		if color = "red"; Verdict(above) == ErrorReply {
			color = "brightgreen"
		}
	}
	if fast != "" && color != "red" || limit < modest && color == "brightgreen" {
		color = "yellow"
	}
	return message + fast, color
}

// treated is what came of the scenarios that a server was put through: green where it stood them all.
func treated(faults []results.Fault) (message, color string) {
	stood := 0
	for _, f := range faults {
		if Verdict(f.Verdict) == OK {
			stood++
		}
	}
	color = "yellow"
	if stood == len(faults) {
		color = "brightgreen"
	}
	return fmt.Sprintf("stands %d of %d faults of clients", stood, len(faults)), color
}

// modest is the least that a server should serve, in bytes.
const modest = 4 << 20

func sizeText(n int64) string {
	if s := results.FormatSize(n); !strings.HasSuffix(s, " B") {
		return s
	}
	return bytesText(int(n))
}

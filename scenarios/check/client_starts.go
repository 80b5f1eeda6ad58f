package check

import (
	"bytes"
	"context"
	"os"

	"github.com/pipebench/pipebench/results"
)

// manyStarts is the number of failed starts after which a leak of a descriptor each is seen.
const manyStarts = 20

// A startWatch looks at a client while it starts its server again and again.
type startWatch struct{ first, last startCount }

// A startCount is how many servers a client had started, and the files it had open then.
type startCount struct{ starts, open int }

// look counts, and reports whether there are enough starts. It sees nothing before the first, and
// where the system does not tell what a process has open.
func (w *startWatch) look(pid int, record string) (enough bool) {
	text, _ := os.ReadFile(record)
	starts := bytes.Count(text, []byte(`"kind":"environment"`))
	open, err := openFiles(pid)
	if err != nil || starts == 0 {
		return false
	}
	w.last = startCount{starts, len(open)}
	if w.first.starts == 0 {
		w.first = w.last
	}
	return w.last.starts > manyStarts+w.first.starts
}

// failStarts has a client that lives on start a server that fails, again and again.
func failStarts(ctx context.Context, f *finding) error {
	var w startWatch
	v, err := f.visit(ctx, w.look, "--fault", "limit@1")
	if err != nil {
		return err
	}
	more := w.last.open - w.first.open
	v.Descriptors = &more
	f.evidence = v.ClientEvidence
	since := w.last.starts - w.first.starts
	failed := results.FormatCount(len(v.Sessions), "failed start")
	switch {
	case v.LeftAlive > 0:
		f.fails("leaves %s of its servers behind", results.FormatCount(v.LeftAlive, "process"))
	case since >= manyStarts && 2*more > since:
		f.fails("has %d descriptors more after %d failed starts of its server", more, since)
	case since >= manyStarts:
		f.ok("has %d descriptors more after %d failed starts of its server", more, since)
	case v.Ended && v.Code == 0:
		f.fails("ends with code 0 though its server does not start")
	case v.Ended:
		f.ok("ends with code %d after %s: %s", v.Code, failed, v.last())
	default:
		f.cannotTell("tried %s in %v, where %d show a leak", failed, round(v.TookNS), manyStarts)
	}
	return nil
}

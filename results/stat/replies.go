package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// ReplyTimes pairs each request with the next reply of its id in the same recording, and returns
// the nanoseconds between them by method.
func ReplyTimes(messages []results.Message) map[string][]int64 {
	type call struct{ run, id string }
	open := map[call]results.Message{}
	out := map[string][]int64{}
	for _, m := range messages {
		at := call{m.Run, string(m.ID)}
		switch {
		case len(m.ID) == 0:
		case m.Dir == "request" && m.Method != "":
			open[at] = m
		case m.Dir == "reply" && m.Method == "":
			if request, ok := open[at]; ok {
				out[request.Method] = append(out[request.Method], m.T-request.T)
				delete(open, at)
			}
		}
	}
	return out
}

// ByCount lists the methods of reply times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}

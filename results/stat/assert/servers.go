package assert

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A server is all records of one server in the set. Servers differ by their commands.
type server struct {
	command string
	targets []results.Target
}

// servers lists the servers of a set in the order of their first records.
func servers(s *results.Set) []server {
	var out []server
	at := make(map[string]int)
	for _, t := range s.Targets {
		command := strings.Join(t.Command, " ")
		i, known := at[command]
		if !known {
			i = len(out)
			at[command] = i
			out = append(out, server{command: command})
		}
		out[i].targets = append(out[i].targets, t)
	}
	return out
}

// serverCell makes a cell of a record about a server, so that the size and fields after @ can
// choose it. The cell's framing is the server's protocol.
func serverCell(t results.Target) results.Cell {
	return results.Cell{
		Framing:  t.Protocol,
		Size:     int(t.Size),
		Pattern:  results.PatternRoundtrip,
		Messages: strings.Join(t.Command, " "),
	}
}

// serverSlopes returns how the time of each server grows with the size of a message.
func serverSlopes(s *results.Set) []Case {
	var out []Case
	for _, srv := range servers(s) {
		growths := srv.growths()
		for _, g := range growths {
			c := Case{
				Case:  g.String(),
				Value: fmt.Sprintf("%.2f", g.Slope),
				cell:  serverCell(srv.targets[0]),
				known: true,
				value: g.Slope,
			}
			if g.Interval != nil && g.Interval.Lo <= 1 {
				c.doubt = "the interval reaches 1"
			}
			out = append(out, c)
		}
		if len(growths) == 0 && srv.measured() {
			why := "the growth was not measured: it takes three sizes of 64 KiB and more"
			out = append(out, Case{Case: "slope", Why: why, cell: serverCell(srv.targets[0])})
		}
	}
	return out
}

// growths returns the growths that drive recorded. If it recorded none, growths fits one to the
// times of the sizes, if there are enough sizes.
func (srv server) growths() []stat.TargetGrowth {
	var out []stat.TargetGrowth
	for _, t := range srv.targets {
		if g, ok := stat.RecordedGrowth(t); ok {
			out = append(out, g)
		}
	}
	if len(out) > 0 {
		return out
	}
	if g := stat.FitTargetGrowth(srv.targets); g != nil {
		out = append(out, *g)
	}
	return out
}

func (srv server) measured() bool {
	for _, t := range srv.targets {
		if len(t.Samples) > 0 {
			return true
		}
	}
	return false
}

// limitCases returns the largest messages that each server takes and gives.
func limitCases(s *results.Set) []Case {
	all := servers(s)
	var out []Case
	for _, srv := range all {
		prefix := ""
		if len(all) > 1 {
			prefix = srv.command + ": "
		}
		for _, c := range srv.limits() {
			c.Case = prefix + c.Case
			out = append(out, c)
		}
	}
	return out
}

// limits returns the limits that were found. If none was found, the limit of requests is at least
// the largest message that was served.
func (srv server) limits() []Case {
	var out []Case
	var served int64
	for _, t := range srv.targets {
		evidence := t.Evidence.Limit
		switch {
		case t.RequestLimit != nil:
			out = append(out, srv.limit("requests", *t.RequestLimit))
		case t.ReplyLimit != nil:
			out = append(out, srv.limit("replies", *t.ReplyLimit))
		case t.SearchedTo != nil && (evidence == nil || evidence.Side == "request"):
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && t.Served():
			served = max(served, t.Size)
		}
	}
	if len(out) == 0 && served > 0 {
		c := srv.limit("requests", served)
		c.atLeast = true
		out = append(out, c)
	}
	return out
}

func (srv server) limit(which string, bytes int64) Case {
	cell := serverCell(srv.targets[0])
	cell.Size = 0
	return Case{
		Case:  which,
		Value: stat.FormatBytes(bytes),
		cell:  cell,
		known: true,
		value: float64(bytes),
	}
}

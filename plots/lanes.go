package plots

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// maxRecording is the number of bytes of a recording, packed, that a page holds; maxBody is that of
// the body of a message.
const (
	maxRecording = 1500 << 10
	maxBody      = 4 << 10
)

// pack packs messages for the script of a page in the order of their times, and says what is not among
// them: their bodies are cut, and then the later half is left out, until the rest fits.
func pack(messages []results.Message) (packed, note string) {
	lines := slices.SortedStableFunc(slices.Values(messages), func(a, b results.Message) int { return cmp.Compare(a.T, b.T) })
	for most, body := len(lines), maxBody; ; {
		packed = packLines(stat.Map(lines[:most], func(m results.Message) results.Message {
			m.Kind, m.Run, m.T, m.Body = "", "", m.T/1e3*1e3, view.Truncate(m.Body, body) // by µs it takes a third less
			return m
		}))
		switch {
		case len(packed) > maxRecording && body > 0:
			body /= 64
		case len(packed) > maxRecording:
			most /= 2
		case most < len(lines):
			return packed, fmt.Sprintf("The picture that can be explored has the first %d of %d messages.", most, len(lines))
		default:
			return packed, ""
		}
	}
}

// packLines writes JSON, deflated and in base64.
func packLines(messages []results.Message) string {
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	w, _ := flate.NewWriter(text, flate.DefaultCompression) // which is a level
	json.NewEncoder(w).Encode(messages)                     // neither this nor a buffer fails
	w.Close()
	text.Close()
	return out.String()
}

// laneBins is the number of times in which a picture of a recording puts messages together.
const laneBins = 300

// laneChart shows a recording over time: a lane for each direction, in it the sizes of what passed.
func laneChart(set *results.Set) Chart {
	c := Chart{
		Name: "traffic-time", Title: "What passed, over time", Subtitle: recordedOn(set), Columns: 1,
		X:     Axis{Label: "time since the recording began", Scale: Linear, Unit: Nanos, From: new(0.0)},
		Y:     Axis{Label: "message size", Scale: Log2, Unit: Bytes},
		Notes: []string{"A point is the largest message of its time, its bar reaches down to the smallest. Shaded: the other side took nothing for a while."},
	}
	var end int64 = 1
	for _, m := range set.Messages {
		end = max(end, m.T)
	}
	for _, dir := range []string{"request", "reply"} {
		bins := map[int64]Point{}
		p := Panel{Title: map[string]string{"request": "requests", "reply": "replies"}[dir]}
		for _, m := range set.Messages {
			if m.Dir != dir {
				continue
			}
			bin := m.T * laneBins / (end + 1)
			pt, ok := bins[bin]
			if size := float64(m.Size); !ok {
				pt = exact(float64(m.T), size)
			} else {
				pt.Low, pt.High = min(pt.Low, size), max(pt.High, size)
			}
			pt.Y = pt.High
			pt.Samples++
			bins[bin] = pt
			if m.Stall >= view.NotableStall {
				p.Regions = append(p.Regions, Region{From: float64(m.T), To: float64(m.T + m.Stall)})
			}
		}
		s := Series{Name: dir, Shape: Dots}
		for _, pt := range bins {
			s.Points = append(s.Points, pt)
		}
		slices.SortFunc(s.Points, byX)
		if len(s.Points) > 0 {
			p.Series = []Series{s}
			c.Panels = append(c.Panels, p)
		}
	}
	return c
}

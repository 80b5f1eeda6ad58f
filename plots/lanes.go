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
	"github.com/pipebench/pipebench/results/view"
)

// A recording is the messages of a recording as the script of a page takes them, in the order of
// their times: a list of each field, which takes a third of the bytes of a list of messages.
type recording struct {
	T      []int64            `json:"t"`    // µs since the message before
	Dir    []int              `json:"dir"`  // 0 is a request
	Size   []int64            `json:"size"` // bytes
	Method []int              `json:"method"`
	Names  []string           `json:"names"` // of the methods
	Line   []int              `json:"line"`  // of the file, the environment's being the first
	IDs    []string           `json:"ids"`
	Cuts   map[int][][2]int64 `json:"cuts"`   // by message: bytes of each read, and µs since the first
	Stalls [][2]int64         `json:"stalls"` // message and µs
	Errors []int              `json:"errors"`
	Bodies map[int]string     `json:"bodies"`
}

// Bytes of a recording that a page holds.
const (
	maxRecording = 1200 << 10 // in all, packed
	maxBodies    = 256 << 10  // of what messages hold, before
	maxBody      = 4 << 10    // of one message
	maxCuts      = 1 << 16    // reads
)

// pack packs the messages for a page, and says what is not among them. It leaves out the ids, then
// the later half of the messages, until the rest fits.
func pack(messages []results.Message) (packed, note string) {
	type line struct {
		results.Message
		number int
	}
	var lines []line
	for i, m := range messages {
		lines = append(lines, line{m, i + 2})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.T, b.T) })
	for ids, most := true, len(lines); ; ids = false {
		r := recording{Cuts: map[int][][2]int64{}, Stalls: [][2]int64{}, Errors: []int{}, Bodies: map[int]string{}}
		names := map[string]int{}
		var before int64
		var bodies, cuts int
		for i, m := range lines[:most] {
			if _, known := names[m.Method]; !known {
				names[m.Method] = len(r.Names)
				r.Names = append(r.Names, m.Method)
			}
			at := m.T / 1e3
			r.T, before = append(r.T, at-before), at
			r.Dir = append(r.Dir, map[bool]int{true: 1}[m.Dir == "reply"])
			r.Size, r.Method, r.Line = append(r.Size, m.Size), append(r.Method, names[m.Method]), append(r.Line, m.number)
			if ids {
				r.IDs = append(r.IDs, string(m.ID))
			}
			if m.Error {
				r.Errors = append(r.Errors, i)
			}
			if m.Stall > 0 {
				r.Stalls = append(r.Stalls, [2]int64{int64(i), m.Stall / 1e3})
			}
			if cuts += len(m.Cuts); len(m.Cuts) > 1 && cuts <= maxCuts {
				for k, n := range m.Cuts {
					r.Cuts[i] = append(r.Cuts[i], [2]int64{n})
					if k < len(m.CutNS) {
						r.Cuts[i][k][1] = m.CutNS[k] / 1e3
					}
				}
			}
			if body := view.Truncate(m.Body, maxBody); body != "" && bodies+len(body) <= maxBodies {
				bodies += len(body)
				r.Bodies[i] = body
			}
		}
		if packed = r.packed(); len(packed) <= maxRecording {
			if most < len(lines) {
				note = fmt.Sprintf("The picture that can be explored has the first %d of %d messages.", most, len(lines))
			}
			return packed, note
		}
		if !ids {
			most /= 2
		}
	}
}

func (r recording) packed() string {
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	w, _ := flate.NewWriter(text, flate.DefaultCompression) // which is a level
	json.NewEncoder(w).Encode(r)                            // neither this nor a buffer fails
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

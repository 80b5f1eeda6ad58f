package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// fleetOf returns machines of thirteen kinds. Each kind has ratios to raw of its own, and each
// machine differs from its kind by 2 %. On slow machines ndjson keeps three quarters of that.
func fleetOf(machines int, slow map[int]bool) []stat.Member {
	rng := rand.New(rand.NewPCG(3, 5))
	const kinds = 13
	framings := []string{"ndjson", "content-length", "length-prefix", "chunked:61440"}
	placements := []string{"same", "apart", "free"}
	var usual [kinds]map[results.Cell]float64
	for i := range usual {
		usual[i] = make(map[results.Cell]float64)
		for _, framing := range framings {
			for _, placement := range placements {
				c := results.Cell{Framing: framing, Size: 4000, Placement: placement}
				usual[i][c] = 0.5 + rng.Float64()/2
			}
		}
	}
	var members []stat.Member
	for i := range machines {
		kind := i % kinds
		m := stat.Member{Name: fmt.Sprint("node", i)}
		m.Runs = []results.Environment{{OS: "linux", Arch: "amd64", CPU: fmt.Sprint("cpu", kind)}}
		for _, framing := range framings {
			for _, placement := range placements {
				c := results.Cell{Framing: framing, Size: 4000, Placement: placement}
				ratio := usual[kind][c] * math.Exp(0.02*rng.NormFloat64())
				if slow[i] && framing == "ndjson" {
					ratio *= 0.75
				}
				m.Figures = append(m.Figures, stat.Figure{Cell: c, ToRaw: stat.Estimate{
					N: 10, Median: ratio,
					Interval: &stat.Interval{Lo: 0.97 * ratio, Hi: 1.03 * ratio},
				}})
			}
		}
		members = append(members, m)
	}
	return members
}

func TestTenOutliersOfAThousandAreFound(t *testing.T) {
	slow := make(map[int]bool)
	for i := range 10 {
		slow[97*i+5] = true
	}
	found := make(map[int]bool)
	wrong := 0
	outliers, compared := stat.FleetOutliers(fleetOf(1000, slow))
	if compared != 1000 {
		t.Errorf("%d machines were compared", compared)
	}
	for _, o := range outliers {
		found[o.Member] = true
		if !slow[o.Member] {
			wrong++
		}
		if slow[o.Member] && o.Cell.Framing != "ndjson" {
			t.Errorf("machine %d stands out in %s", o.Member, o.Cell.Framing)
		}
	}
	for i := range slow {
		if !found[i] {
			t.Errorf("machine %d is not found", i)
		}
	}
	if wrong > 2 {
		t.Errorf("%d machines that are like the others are outliers", wrong)
	}
}

// Of seven machines none is usual.
func TestFewMachinesHaveNoOutliers(t *testing.T) {
	members := fleetOf(stat.LeastPeers-1, map[int]bool{2: true})
	if found, compared := stat.FleetOutliers(members); found != nil || compared > 0 {
		t.Errorf("found %v", found)
	}
}

// One figure that is much further off than the noise is enough, however many are too noisy. What
// the program of a reader costs does not count, however far off it is.
func TestOneFarFigureIsFound(t *testing.T) {
	members := fleetOf(13*stat.LeastPeers, nil)
	for i, m := range members {
		for size := range 60 {
			noisy := m.Figures[0]
			noisy.Cell.Size = size
			noisy.ToRaw.Interval = &stat.Interval{Lo: 0.1, Hi: 3}
			members[i].Figures = append(members[i].Figures, noisy)
		}
		parsing := m.Figures[3]
		parsing.Cell.Work = 1
		members[i].Figures = append(members[i].Figures, parsing)
	}
	atWork := &members[7].Figures[len(members[7].Figures)-1].ToRaw
	atWork.Median /= 2
	atWork.Interval = &stat.Interval{Lo: 0.97 * atWork.Median, Hi: 1.03 * atWork.Median}
	far := &members[7].Figures[3].ToRaw
	far.Median *= 0.75
	far.Interval = &stat.Interval{Lo: 0.97 * far.Median, Hi: 1.03 * far.Median}
	found, _ := stat.FleetOutliers(members)
	if len(found) != 1 || found[0].Member != 7 || found[0].Compared != 3 ||
		found[0].Cell != members[7].Figures[3].Cell {
		t.Errorf("found %+v", found)
	}
}

// A few machines of a kind that differ from all others do not stand out: their kind differs.
func TestAKindOfMachinesIsNoOutlier(t *testing.T) {
	const kinds = 13
	slow := map[int]bool{0: true, kinds: true, 2 * kinds: true, 3 * kinds: true}
	var members []stat.Member
	for i, m := range fleetOf(16*kinds, slow) {
		if i%kinds == 0 {
			members = append(members, m)
		}
	}
	if found, _ := stat.FleetOutliers(members); len(found) != len(slow) {
		t.Errorf("machines of one kind: found %+v", found)
	}
	for i := range slow {
		members[i/kinds].Runs[0].CPU = "another"
	}
	if found, _ := stat.FleetOutliers(members); len(found) > 0 {
		t.Errorf("machines of another kind: found %+v", found)
	}
}

// A machine whose raw is slow shows its framings' shares too high: raw explains that.
func TestASlowRawComesBeforeTheSharesOfIt(t *testing.T) {
	members := fleetOf(13*stat.LeastPeers, nil)
	for i := range members {
		speed := 4e9
		if i == 7 {
			speed /= 2
		}
		raw := stat.Figure{Cell: results.Cell{Framing: "raw", Size: 4000, Placement: "same"}}
		raw.Speed = stat.Estimate{
			N: 10, Median: speed,
			Interval: &stat.Interval{Lo: 0.97 * speed, Hi: 1.03 * speed},
		}
		members[i].Figures = append(members[i].Figures, raw)
	}
	share := &members[7].Figures[0].ToRaw
	share.Median *= 2.1
	share.Interval = &stat.Interval{Lo: 0.97 * share.Median, Hi: 1.03 * share.Median}
	found, _ := stat.FleetOutliers(members)
	if len(found) != 2 || found[0].Cell.Framing != "raw" || found[1].Cell.Framing != "ndjson" {
		t.Errorf("found %+v", found)
	}
}

// Of several records of one server the worst counts, and the smallest limit, in any order.
func TestAServersLimitIsKeptInAnyOrder(t *testing.T) {
	size := results.Target{Run: "r", Command: []string{"server"}, Size: 65536, Verdict: "deaf"}
	limit := results.Target{Run: "r", Command: []string{"server"}, Verdict: "deaf",
		RequestLimit: new(int64(10000))}
	larger := limit
	larger.RequestLimit = new(int64(20000))
	for _, order := range [][]results.Target{{size, limit, larger}, {larger, limit, size}} {
		fleet := stat.NewFleet()
		for _, r := range order {
			fleet.Add(r)
		}
		answers := fleet.Members()[0].Answers
		if len(answers) != 1 || answers[0].Value != 10000.0 {
			t.Errorf("answers %+v", answers)
		}
	}
}

// Package placement decides on which CPUs the two ends of a pipe run, and takes them there.
//
//	topology, err := placement.Read()
//	cpus, err := topology.Choose("apart") // cpus.Writer, cpus.Reader
//	err = placement.PinThread(cpus.Writer)
//
// Where the ends run decides a pipe's figures more than anything else: a copy that stays in one
// core's cache is several times as fast as one that crosses to another's. All functions may be
// called concurrently.
package placement

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/syspipe"
)

// A Place is a relation between the CPUs of the two ends.
type Place struct {
	Name string
	What string // a line for a list

	related func(a, b CPU) bool // whether two CPUs are so related; nil if any two will do
	lacking string              // why a machine may have no such two
}

// Places returns the relations that [Topology.Choose] knows.
func Places() []Place {
	return []Place{
		{"same", "one CPU: the bytes stay in its cache",
			func(a, b CPU) bool { return a.ID == b.ID }, "no CPU is allowed"},
		{"sibling", "two threads of a core",
			func(a, b CPU) bool { return a.ID != b.ID && a.Core == b.Core },
			"no core has two hardware threads that this process may use"},
		{"apart", "two CPUs: cores under one last-level cache",
			func(a, b CPU) bool { return a.Core != b.Core && a.Cache == b.Cache },
			"no two cores that this process may use share a last-level cache"},
		{"far", "two CPUs, no shared cache",
			func(a, b CPU) bool { return a.Cache != b.Cache },
			"all CPUs that this process may use share their last-level cache"},
		{"free", "unpinned: the scheduler chooses, and may move them meanwhile", nil, ""},
	}
}

// Any stands for a CPU that is left to the scheduler.
const Any = -1

// CPUs are where the ends of a pipe are to run.
type CPUs struct{ Writer, Reader int }

// A Topology is the CPUs that this process may use.
type Topology struct{ CPUs []CPU }

// A CPU is one hardware thread, and what it shares with the others.
type CPU struct {
	ID    int
	Core  string // hardware threads with the same Core are siblings
	Cache string // CPUs with the same Cache share their last-level cache
}

// String sums a topology up: "2 CPUs, 2 cores, 1 last-level cache".
func (t Topology) String() string {
	count := func(part func(CPU) string, one, many string) string {
		seen := map[string]bool{}
		for _, c := range t.CPUs {
			seen[part(c)] = true
		}
		if len(seen) == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", len(seen), many)
	}
	return strings.Join([]string{
		count(func(c CPU) string { return fmt.Sprint(c.ID) }, "CPU", "CPUs"),
		count(func(c CPU) string { return c.Core }, "core", "cores"),
		count(func(c CPU) string { return c.Cache }, "last-level cache", "last-level caches"),
	}, ", ")
}

// Best returns the placements that show most of this machine: same, and the first that it has of
// apart, sibling and far. If a program cannot choose its CPUs, the only one is free.
func (t Topology) Best() []string {
	can := func(place string) bool {
		_, err := t.Choose(place)
		return err == nil
	}
	if !can("same") {
		return []string{"free"}
	}
	for _, place := range []string{"apart", "sibling", "far"} {
		if can(place) {
			return []string{"same", place}
		}
	}
	return []string{"same"}
}

// BestAndFree returns the best placements, and then free, which is what programs get.
func (t Topology) BestAndFree() []string {
	best := t.Best()
	if slices.Contains(best, "free") {
		return best
	}
	return append(best, "free")
}

// Choose picks the CPUs for a place. The highest-numbered are taken first, since the lowest serve
// most interrupts. The error is [errors.ErrUnsupported] if no CPUs of this machine that this
// process may use are so related.
func (t Topology) Choose(place string) (CPUs, error) {
	var known []string
	var p Place
	for _, each := range Places() {
		what, _, _ := strings.Cut(each.What, ":")
		known = append(known, each.Name+" ("+what+")")
		if each.Name == place {
			p = each
		}
	}
	switch {
	case p.Name == "":
		return CPUs{}, fmt.Errorf("placement %q is unknown; known are %s",
			place, strings.Join(known, ", "))
	case p.related == nil:
		return CPUs{Any, Any}, nil
	case len(t.CPUs) == 0:
		p.lacking = "pipebench chooses no CPUs on " + runtime.GOOS + "; use free"
	}
	byID := slices.Clone(t.CPUs)
	slices.SortFunc(byID, func(a, b CPU) int { return cmp.Compare(b.ID, a.ID) })
	for _, reader := range byID {
		for _, writer := range byID {
			if p.related(writer, reader) {
				return CPUs{Writer: writer.ID, Reader: reader.ID}, nil
			}
		}
	}
	return CPUs{}, syspipe.Unsupported("placement " + place + ": " + p.lacking)
}

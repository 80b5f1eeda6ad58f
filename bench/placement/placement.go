// Package placement chooses the CPUs for the two ends of a pipe, and binds threads to them. Where
// the ends run decides a pipe's speed more than anything else.
//
//	topology, err := placement.Read()
//	cpus, err := topology.Choose("apart") // cpus.Writer, cpus.Reader
//	err = placement.PinThread(cpus.Writer)
//
// All functions may be called concurrently.
package placement

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A Place is a relation between the two CPUs on which the ends of a pipe run.
type Place struct {
	Name string
	What string // a description, for lists of places

	related func(a, b CPU) bool // whether a and b have the relation; nil if any CPUs will do
	lacking string              // the error if no CPUs have the relation
}

// Places returns the relations that [Topology.Choose] knows.
func Places() []Place {
	return []Place{
		{
			Name: "same", What: "one CPU: the bytes stay in its cache",
			related: func(a, b CPU) bool { return a.ID == b.ID },
			lacking: "no CPU is allowed",
		},
		{
			Name: "sibling", What: "two threads of a core",
			related: func(a, b CPU) bool { return a.ID != b.ID && a.Core == b.Core },
			lacking: "no core has two hardware threads that this process may use",
		},
		{
			Name: "apart", What: "two CPUs: cores under one last-level cache",
			related: func(a, b CPU) bool { return a.Core != b.Core && a.Cache == b.Cache },
			lacking: "no two cores that this process may use share a last-level cache",
		},
		{
			Name: "far", What: "two CPUs, no shared cache",
			related: func(a, b CPU) bool { return a.Cache != b.Cache },
			lacking: "all CPUs that this process may use share their last-level cache",
		},
		{Name: "free", What: "unpinned: the scheduler chooses, and may move them meanwhile"},
	}
}

// Any stands for a CPU that is left to the scheduler.
const Any = -1

// CPUs are the numbers of the CPUs on which the two ends of a pipe are to run.
type CPUs struct{ Writer, Reader int }

// A Topology is the CPUs that this process may use.
type Topology struct{ CPUs []CPU }

// A CPU is one hardware thread, and what it shares with other CPUs.
type CPU struct {
	ID    int
	Core  string // hardware threads with the same Core are siblings
	Cache string // CPUs with the same Cache share their last-level cache
}

// String counts what the topology has: "2 CPUs, 2 cores, 1 last-level cache".
func (t Topology) String() string {
	count := func(name func(CPU) string, what string) string {
		seen := map[string]bool{}
		for _, c := range t.CPUs {
			seen[name(c)] = true
		}
		return results.FormatCount(len(seen), what)
	}
	return strings.Join([]string{
		count(func(c CPU) string { return fmt.Sprint(c.ID) }, "CPU"),
		count(func(c CPU) string { return c.Core }, "core"),
		count(func(c CPU) string { return c.Cache }, "last-level cache"),
	}, ", ")
}

// Best returns the names of the places that show most about this machine: "same", and the first of
// "apart", "sibling" and "far" that is possible here. If programs cannot choose their CPUs here,
// Best returns only "free".
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

// BestAndFree returns the places of [Topology.Best], and "free", where the scheduler chooses CPUs
// as it does for most programs.
func (t Topology) BestAndFree() []string {
	best := t.Best()
	if slices.Contains(best, "free") {
		return best
	}
	return append(best, "free")
}

// Choose picks CPUs that are related as the [Place] with the given name says. If this process may
// not use such CPUs, the error wraps [errors.ErrUnsupported].
func (t Topology) Choose(name string) (CPUs, error) {
	var known []string
	var place Place
	for _, p := range Places() {
		what, _, _ := strings.Cut(p.What, ":")
		known = append(known, p.Name+" ("+what+")")
		if p.Name == name {
			place = p
		}
	}
	switch {
	case place.Name == "":
		return CPUs{}, fmt.Errorf("placement %q is unknown; known are %s",
			name, strings.Join(known, ", "))
	case place.related == nil:
		return CPUs{Writer: Any, Reader: Any}, nil
	case len(t.CPUs) == 0:
		return CPUs{}, syspipe.Unsupported("placement " + name +
			": pipebench chooses no CPUs on " + runtime.GOOS + "; use free")
	}
	highestFirst := slices.Clone(t.CPUs) // the lowest numbers serve most interrupts
	slices.SortFunc(highestFirst, func(a, b CPU) int { return cmp.Compare(b.ID, a.ID) })
	for _, reader := range highestFirst {
		for _, writer := range highestFirst {
			if place.related(writer, reader) {
				return CPUs{Writer: writer.ID, Reader: reader.ID}, nil
			}
		}
	}
	return CPUs{}, syspipe.Unsupported("placement " + name + ": " + place.lacking)
}

package results

// placements are where the two ends of a pipe can run, in the order in which tables and sentences
// mention them.
var placements = []placement{
	{"same", "one CPU", "on one CPU"},
	{"sibling", "two threads of a core", "on two threads of a core"},
	{"apart", "two CPUs", "on two CPUs"},
	{"far", "two CPUs, no shared cache", "on two CPUs without a shared cache"},
	{"free", "unpinned", "with the ends unpinned"},
}

type placement struct{ name, short, phrase string }

// placementOf returns a placement and its index, which is len(placements) for an unknown one.
func placementOf(name string) (placement, int) {
	for i, p := range placements {
		if p.name == name {
			return p, i
		}
	}
	return placement{name, name, "with placement " + name}, len(placements)
}

// PlacementNames returns the values of [Cell.Placement], in the order of [ComparePlacements].
func PlacementNames() []string {
	var names []string
	for _, p := range placements {
		names = append(names, p.name)
	}
	return names
}

// ComparePlacements compares two placements by the order in which tables mention them.
func ComparePlacements(a, b string) int {
	_, i := placementOf(a)
	_, j := placementOf(b)
	return i - j
}

// PlacementPhrase says where the two ends run: "on one CPU".
func PlacementPhrase(name string) string {
	p, _ := placementOf(name)
	return p.phrase
}

// ShortPlacement says where the two ends run, in the few words of a title: "one CPU".
func ShortPlacement(name string) string {
	p, _ := placementOf(name)
	return p.short
}

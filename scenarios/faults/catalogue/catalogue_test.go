package catalogue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

func ExampleFind() {
	m, err := catalogue.Find(catalogue.Server, "deaf")
	fmt.Println(m.Usage(), err)
	fmt.Println(m.Title)
	// Output:
	// deaf@1MiB <nil>
	// reads on but never answers again once a message is larger
}

// Every entry says what is done and what to do, under a name of its own.
func TestEachIsDescribed(t *testing.T) {
	sides := []catalogue.Side{
		catalogue.Program, catalogue.Server, catalogue.Client, catalogue.Surroundings, catalogue.Habits, catalogue.Life,
	}
	seen := map[string]bool{}
	for _, m := range catalogue.All() {
		if !slices.Contains(sides, m.Side) {
			t.Errorf("%q is neither a side nor a part of an entry", m.Side)
		}
		id := string(m.Side) + "/" + m.Name
		if seen[id] {
			t.Errorf("%s is listed twice", id)
		}
		seen[id] = true
		if m.Title == "" || m.Advice == "" {
			t.Errorf("%s: %+v", id, m)
		}
		if m.Default != 0 && m.Sign == 0 || m.Sign != 0 && m.Side != catalogue.Server {
			t.Errorf("%s: sign %q, default %d", id, m.Sign, m.Default)
		}
		if again, err := catalogue.Find(m.Side, m.Name); err != nil || again != m {
			t.Errorf("%s: found %+v, %v", id, again, err)
		}
	}
}

func TestFindNamesWhatIsKnown(t *testing.T) {
	_, err := catalogue.Find(catalogue.Client, "deaf")
	if err == nil || !strings.Contains(err.Error(), "dirty-line, split-utf8") || strings.Contains(err.Error(), "reader-gone") {
		t.Errorf("got %v", err)
	}
}

package catalogue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/catalogue"
)

func ExampleFind() {
	s, err := catalogue.Find(catalogue.Faults(), "deaf")
	fmt.Println(s.Usage(), err)
	fmt.Println(s.Title)
	// Output:
	// deaf@1MiB <nil>
	// reads on but never answers again once a message is larger
}

// Every entry says what is done and what to do, under a name of its own.
func TestEachIsDescribed(t *testing.T) {
	sides := []catalogue.Side{catalogue.Program, catalogue.Server, catalogue.Client}
	for _, side := range sides {
		seen := map[string]bool{}
		for _, s := range catalogue.For(side) {
			if seen[s.Name] {
				t.Errorf("%s/%s is listed twice", side, s.Name)
			}
			seen[s.Name] = true
			if s.Title == "" || s.Advice == "" {
				t.Errorf("%s: %+v", side, s)
			}
			if s.Default != 0 && s.Sign == 0 || s.Sign != 0 && side != catalogue.Client {
				t.Errorf("%s/%s: sign %q, default %d", side, s.Name, s.Sign, s.Default)
			}
			if again, err := catalogue.Find(catalogue.For(side), s.Name); err != nil || again != s {
				t.Errorf("%s/%s: found %+v, %v", side, s.Name, again, err)
			}
		}
	}
}

// A server that fails at one large message at a time also fails if many come: the cause is named
// first.
func TestLargeMessagesComeBeforeManyOfThem(t *testing.T) {
	var names []string
	for _, s := range catalogue.For(catalogue.Server) {
		names = append(names, s.Name)
	}
	many := slices.Index(names, "slow-reader")
	for _, name := range []string{"large-request", "large-reply"} {
		if i := slices.Index(names, name); i < 0 || i > many {
			t.Errorf("%s is number %d, slow-reader %d", name, i, many)
		}
	}
}

func TestFindNamesWhatIsKnown(t *testing.T) {
	_, err := catalogue.Find(catalogue.For(catalogue.Server), "deaf")
	if err == nil || !strings.Contains(err.Error(), "dirty-line, split-utf8") ||
		strings.Contains(err.Error(), "reader-leaves-at-once") {
		t.Errorf("got %v", err)
	}
}

package results

import (
	"strings"
	"testing"
)

// What is merged may have been made on the stack of whoever merges it, and lives on.
func TestAMergedSetOutlivesItsParts(t *testing.T) {
	name := strings.Repeat("x", 20)
	got := mergedOnTheStack(name).Environments[0].Hostname
	grow(100)
	if want := "lab-" + name; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

//go:noinline
func mergedOnTheStack(name string) *Set {
	return Merge(&Set{Environments: []Environment{{Hostname: "lab-" + name}}})
}

// grow overwrites what lay on the stack.
//
//go:noinline
func grow(deep int) (sum int) {
	var b [256]byte
	for i := range b {
		b[i] = byte(deep)
	}
	if deep > 0 {
		sum = grow(deep - 1)
	}
	return sum + int(b[deep])
}

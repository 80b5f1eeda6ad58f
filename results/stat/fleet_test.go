package stat

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Machines stand in the order in which their files are named, whatever their systems and names are.
func TestMachinesKeepTheOrderInWhichTheyCome(t *testing.T) {
	f := NewFleet()
	for _, host := range []string{"mine", "gvisor", "another"} {
		f.Add(results.Environment{Run: host, Machine: host, Hostname: host, OS: "linux"})
	}
	f.Add(results.Environment{Run: "gvisor 2", Machine: "gvisor", Hostname: "gvisor", OS: "linux"})
	var got []string
	for _, m := range f.Members() {
		got = append(got, m.Name)
	}
	if len(got) != 3 || got[0] != "mine" || got[1] != "gvisor" || got[2] != "another" {
		t.Errorf("got %q", got)
	}
}

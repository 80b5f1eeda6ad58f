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

// Of several records of one server the worst counts, and the smallest limit, in any order.
func TestAServersLimitIsKeptInAnyOrder(t *testing.T) {
	size := results.Target{Run: "r", Command: []string{"server"}, Size: 65536, Verdict: "deaf"}
	limit := results.Target{Run: "r", Command: []string{"server"}, Verdict: "deaf",
		RequestLimit: new(int64(10000))}
	larger := limit
	larger.RequestLimit = new(int64(20000))
	for _, order := range [][]results.Target{{size, limit, larger}, {larger, limit, size}} {
		fleet := NewFleet()
		for _, r := range order {
			fleet.Add(r)
		}
		answers := fleet.Members()[0].Answers
		if len(answers) != 1 || answers[0].Value != 10000.0 {
			t.Errorf("answers %+v", answers)
		}
	}
}

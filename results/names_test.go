package results_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestMachinesHaveNamesOfTheirOwn(t *testing.T) {
	label := func(key, value string) map[string]string { return map[string]string{key: value} }
	const emulated = "emulated by QEMU"
	tests := []struct {
		machine results.Environment
		want    string
	}{
		{results.Environment{Hostname: "laptop", OS: "linux", Arch: "amd64"}, "laptop"},
		{results.Environment{Hostname: "mac", OS: "darwin", Arch: "arm64"}, "mac"},
		{results.Environment{Hostname: "pod", OS: "linux", Labels: label("node", "n1")}, "n1"},
		{results.Environment{Hostname: "pod", OS: "linux", Labels: label("machine", "m1")}, "m1"},
		{results.Environment{Hostname: "vm", OS: "linux", Arch: "amd64"}, "vm (linux/amd64)"},
		{results.Environment{Hostname: "vm", OS: "windows", Arch: "amd64",
			Imitation: "imitated by Wine"}, "vm (windows/amd64, imitated by Wine)"},
		{results.Environment{Hostname: "(none)", OS: "linux", Arch: "386"}, "linux/386"},
		{results.Environment{Hostname: "(none)", OS: "linux", Arch: "arm64", Kernel: "6.1",
			Imitation: emulated}, "linux 6.1 (emulated by QEMU)"},
		{results.Environment{OS: "linux", Arch: "arm64", Kernel: "6.12", Imitation: emulated},
			"linux 6.12 (emulated by QEMU)"},
		{results.Environment{Hostname: "mail", OS: "linux", Arch: "amd64", Kernel: "6.1.0-50"},
			"mail (linux 6.1)"},
		{results.Environment{Hostname: "mail", OS: "linux", Arch: "amd64", Kernel: "6.12.107"},
			"mail (linux 6.12)"},
		{results.Environment{Hostname: "twin", OS: "linux", Arch: "386", Kernel: "7"},
			"twin (linux/386)"},
		{results.Environment{Hostname: "twin", OS: "linux", Arch: "arm64", Kernel: "7"},
			"twin (linux 7 arm64)"},
		{results.Environment{Hostname: "twin", OS: "linux", Arch: "arm64", Kernel: "7.1"},
			"twin (linux 7.1)"},
		{results.Environment{Hostname: "twin", OS: "linux", Arch: "amd64", Kernel: "7"},
			"twin 00000014"},
		{results.Environment{Hostname: "twin", OS: "linux", Arch: "amd64", Kernel: "7"},
			"twin 00000015"},
		{results.Environment{Hostname: "ci", OS: "linux", Arch: "amd64", Kernel: "6.18.44-v657-gpu",
			CPU: "Intel(R) Xeon(R) Processor", CPUs: 16}, "ci (Intel, 16 CPUs)"},
		{results.Environment{Hostname: "ci", OS: "linux", Arch: "amd64", Kernel: "6.18.44",
			CPU: "AMD EPYC", CPUs: 2}, "ci (AMD, 2 CPUs)"},
		{results.Environment{}, "unknown"},
	}
	var all []results.Environment
	for i := range tests {
		tests[i].machine.Machine = "sha256:000000" + string(rune('0'+i/10)) +
			string(rune('0'+i%10)) + "ffff"
		all = append(all, tests[i].machine)
	}
	names := results.MachineNames(all)
	for _, tt := range tests {
		if got := names[tt.machine.Node()]; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestMachinesThatAreAlikeHaveNodesOfTheirOwn(t *testing.T) {
	env := func(machine, host, node string) results.Environment {
		e := results.Environment{Machine: machine, Hostname: host}
		e.Labels = map[string]string{"node": node}
		return e
	}
	for _, test := range []struct {
		what string
		a, b results.Environment
		same bool
	}{
		{"two runs of a host", env("1", "a", ""), env("1", "a", ""), true},
		{"two hosts", env("1", "a", ""), env("1", "b", ""), false},
		{"a new kernel", env("1", "a", ""), results.Environment{Machine: "1", Hostname: "a",
			Kernel: "7"}, false},
		{"a host that changed", env("1", "a", ""), env("2", "a", ""), false},
		{"pods on a node", env("1", "x", "a"), env("1", "y", "a"), true},
		{"pods on two nodes", env("1", "x", "a"), env("1", "x", "b"), false},
		{"containers", env("1", "0a1b2c3d4e5f", ""), env("1", "f0e1d2c3b4a5", ""), true},
	} {
		if same := test.a.Node() == test.b.Node(); same != test.same {
			t.Errorf("%s: the same node: %v", test.what, same)
		}
	}
}

package machine

import (
	"math"
	"slices"
	"testing"
	"testing/fstest"
)

// under has the kernel tell of itself by files with these texts.
func under(t *testing.T, files map[string]string) {
	usual := root
	t.Cleanup(func() { root = usual })
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	root = tree
}

func TestWhatLinuxTells(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a container that shows nothing", nil, nil},
		{"a machine at its best", map[string]string{
			"sys/devices/system/cpu/intel_pstate/no_turbo": "1", "sys/devices/system/cpu/smt/active": "0", "sys/fs/cgroup/cpu.max": "max 100000",
		}, nil},
		{
			"turbo of Intel",
			map[string]string{"sys/devices/system/cpu/intel_pstate/no_turbo": "0"},
			[]string{"turbo"},
		},
		{
			"turbo of others", map[string]string{"sys/devices/system/cpu/cpufreq/boost": "1"},
			[]string{"turbo"},
		},
		{
			"hardware threads", map[string]string{"sys/devices/system/cpu/smt/active": "1"},
			[]string{"smt"},
		},
		{
			"a quota of cgroup 2", map[string]string{"sys/fs/cgroup/cpu.max": "150000 100000"},
			[]string{"quota"},
		},
		{
			"a quota of cgroup 1",
			map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "50000",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
			},
			[]string{"quota"},
		},
		{
			"no quota of cgroup 1",
			map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
			},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			under(t, c.files)
			var got []string
			for _, f := range systemFaults() {
				if f.Found != "" {
					got = append(got, f.ID)
				}
				if f.Advice == "" {
					t.Errorf("%s has no remedy", f.ID)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestUsageFromProc(t *testing.T) {
	under(t, map[string]string{
		"proc/stat":              "cpu  100 10 20 5000 30 1 2 50 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1 1 1\nintr 5",
		"sys/fs/cgroup/cpu.stat": "usage_usec 5\nthrottled_usec 250000",
	})
	got := systemUsage()
	if !got.Known || math.Round(1000*got.Busy) != 1330 || got.Stolen != 0.5 ||
		got.Throttled != 0.25 || got.CPUs != 2 {
		t.Errorf("got %+v", got)
	}
	for _, files := range []map[string]string{
		{ // of a service: its group has a quota, and so has the slice above it
			"proc/self/cgroup":                             "0::/a.slice/b.service",
			"sys/fs/cgroup/cpu.stat":                       "usage_usec 5",
			"sys/fs/cgroup/a.slice/cpu.stat":               "throttled_usec 1000000",
			"sys/fs/cgroup/a.slice/b.service/cpu.stat":     "throttled_usec 250000",
			"sys/fs/cgroup/a.slice/other.service/cpu.stat": "throttled_usec 5000000",
		},
		{ // version 1
			"proc/self/cgroup":                 "4:memory:/m\n1:cpuacct,cpu:/a\n0::/",
			"sys/fs/cgroup/cpu/cpu.stat":       "throttled_time 0",
			"sys/fs/cgroup/cpu/a/cpu.stat":     "throttled_time 1250000000",
			"sys/fs/cgroup/unified/a/cpu.stat": "usage_usec 5",
		},
		{ // in a container that does not see its way, the top is its own group
			"proc/self/cgroup":       "0::/docker/0123",
			"sys/fs/cgroup/cpu.stat": "throttled_usec 1250000",
		},
	} {
		under(t, files)
		if got := throttled(); got != 1.25 {
			t.Errorf("%v: %v s", files, got)
		}
	}
	under(t, nil)
	if u := systemUsage(); u.Known {
		t.Errorf("usage of nothing: %+v", u)
	}
}

func TestWhatStandsInForASystemOrAProcessor(t *testing.T) {
	for _, c := range []struct {
		name, program string
		files         map[string]string
		want          string
	}{
		{
			"Linux on its own", "/bin/pipebench",
			map[string]string{
				"proc/version": "Linux version 6.12.0", "proc/cpuinfo": "model name : Testium 9000",
			},
			"",
		},
		{
			"gVisor", "",
			map[string]string{"proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"},
			"imitated by gVisor",
		},
		{
			"the first WSL", "",
			map[string]string{"proc/version": "Linux version 4.4.0-19041-Microsoft"},
			"imitated by WSL 1",
		},
		{
			"the second WSL, a Linux", "",
			map[string]string{"proc/version": "Linux version 5.15.90.1-microsoft-standard-WSL2"},
			"",
		},
		{
			"x86 by QEMU", "",
			map[string]string{"proc/cpuinfo": "model name\t: QEMU TCG CPU version 2.5+"},
			"emulated by QEMU",
		},
		{
			"arm64 by QEMU", "",
			map[string]string{"proc/cpuinfo": "CPU implementer\t: 0x00\nCPU part\t: 0x051"},
			"emulated by QEMU",
		},
		{
			"an arm64", "",
			map[string]string{"proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd0c"}, "",
		},
		{
			"s390x by QEMU", "", map[string]string{"proc/sysinfo": "Manufacturer:         QEMU"},
			"emulated by QEMU",
		},
		{
			"POWER by QEMU", "",
			map[string]string{"proc/cpuinfo": "machine\t\t: CHRP IBM pSeries (emulated by qemu)"},
			"emulated by QEMU",
		},
		{"POWER by KVM", "", map[string]string{
			"proc/cpuinfo": "machine\t\t: CHRP IBM pSeries (emulated by qemu)", "proc/device-tree/hypervisor/compatible": "linux,kvm\x00",
		}, ""},
		{"a program by qemu-user", "/usr/bin/qemu-s390x", nil, "emulated by QEMU"},
	} {
		under(t, c.files)
		if got := imitated(c.program); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	wsl := map[string]string{
		"proc/version": "5.15.90.1-microsoft-standard-WSL2", "run/systemd/container": "docker",
	}
	under(t, wsl)
	if got := virtualised(); got != "virtual machine WSL 2, container" {
		t.Errorf("WSL 2: %q", got)
	}
}

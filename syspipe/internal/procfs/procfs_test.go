package procfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write makes a folder of /proc whose process 7 has that stat.
func write(t *testing.T, stat string) {
	t.Helper()
	old := Root
	t.Cleanup(func() { Root = old })
	Root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(Root, "7"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(Root, "7", "stat"), []byte(stat), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestReadStat(t *testing.T) {
	if !Available {
		t.Skip("this system has no /proc of Linux")
	}
	const after = " 1 7 7 0 -1 4194560 9 0 0 0 2 3 4 5 20 0 12 0 4711 1000 200"
	for name, row := range map[string]struct {
		stat  string
		want  Stat
		ended bool
	}{
		"a name that looks like more": {
			"7 (a) S 9 (b)) S" + after,
			Stat{Command: "a) S 9 (b)", State: 'S'}, false,
		},
		// As text, "12" is below "2".
		"a first thread that has ended before eleven others": {
			"7 (a) Z" + after,
			Stat{Command: "a", State: 'Z'}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, row.stat)
			want := row.want
			want.Parent, want.Flags = 1, 4194560
			want.Threads, want.ChildTicks = 12, 9
			got, err := ReadStat(7)
			if err != nil || got != want || got.Ended() != row.ended {
				t.Errorf("got %+v, ended %v, %v; want %+v", got, got.Ended(), err, want)
			}
		})
	}
	write(t, "7 (a) Z")
	if s, err := ReadStat(7); err == nil {
		t.Errorf("%+v was read of half a line", s)
	}
}

func TestThisProcess(t *testing.T) {
	if !Available {
		if _, err := ReadStat(os.Getpid()); err == nil {
			t.Error("something was read")
		}
		return
	}
	pids, err := PIDs()
	if err != nil || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%v does not list %d: %v", pids, os.Getpid(), err)
	}
	s, err := ReadStat(os.Getpid())
	if err != nil || s.Parent != os.Getppid() || s.Ended() || s.OfKernel() {
		t.Errorf("got %+v, %v", s, err)
	}
	if n, ok := StatusBytes(os.Getpid(), "VmRSS"); !ok || n < 1<<20 {
		t.Errorf("%d bytes are in use, %v", n, ok)
	}
	if env, err := List(os.Getpid(), "environ"); err != nil || len(env) == 0 {
		t.Errorf("environment %v, %v", env, err)
	}
}

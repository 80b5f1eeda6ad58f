package tap_test

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pipebench/pipebench/scenarios/tap"
)

// job names, in the environment of a child process, what the test binary is to be instead of
// testing.
const job = "TAP_TEST_JOB"

func TestMain(m *testing.M) {
	if kind := os.Getenv(job); kind != "" {
		os.Unsetenv(job)
		jobs[kind](os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// jobs are what a child can be. A tap's arguments are the command behind it; its recording goes to
// descriptor 3 if RECORD is set.
var jobs = map[string]func(args []string){
	"tap":    beTap,
	"relay":  beRelay,
	"copy":   beCopy,
	"splice": beSplice,
	"serve":  beServer,
}

func beTap(args []string) {
	// Under nohup SIGHUP is ignored, and a server would inherit that: not so what is handled.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	if os.Getenv("NOHUP") != "" {
		signal.Ignore(syscall.SIGHUP)
	}
	o := tap.Options{Command: args, Run: "test", Protocol: os.Getenv("PROTOCOL"), Bodies: os.Getenv("BODIES") != "", Redact: os.Getenv("REDACT") != ""}
	if os.Getenv("RECORD") != "" {
		o.Record = os.NewFile(3, "recording")
	}
	if kind := os.Getenv("THEN"); kind != "" {
		os.Unsetenv("THEN")
		os.Setenv(job, kind)
	}
	end, err := tap.Run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if end == nil {
		os.Exit(100)
	}
	if os.Getenv("PEAK") != "" {
		fmt.Fprintln(os.Stderr, peak())
	}
	end.ExitLike()
}

// peak is the line of this process's largest resident size.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB"))
		}
	}
	return ""
}

// beServer misbehaves or behaves as its first argument says.
func beServer(args []string) {
	switch args[0] {
	case "exit":
		os.Exit(len(args[1]))
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "close-stdin":
		os.Stdin.Close()
		fmt.Println("closed")
		io.Copy(io.Discard, os.NewFile(3, "leave"))
	case "close-stdout":
		os.Stdout.Close()
		n, _ := io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "read", n)
	case "type":
		fmt.Println(strings.Join(standardTypes(), " "))
	}
}

func pipe(tb testing.TB) (r, w *os.File) {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	return r, w
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

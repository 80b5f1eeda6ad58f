package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// commandEnv makes this test binary the command itself.
const commandEnv = "PIPEBENCH_TEST_COMMAND"

func TestMain(m *testing.M) {
	if _, command := os.LookupEnv(commandEnv); command {
		main()
	}
	os.Setenv("COLUMNS", "100") // few lines are broken, which tests look for
	work()                      // the engine starts this test binary again, as it would the command
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker of a -race build lingers for a second
	}
	if name := filepath.Base(os.Args[0]); strings.TrimSuffix(name, ".exe") != "pipebench" { // the scripts' command
		waitTogether()
	}
	testscript.Main(m, map[string]func(){"pipebench": main})
}

// waitTogether has more tests run at a time than there are CPUs, unless that was said: most of their
// time they wait for deadlines, and none asserts how long something took.
func waitTogether() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
}

// The scripts run the real binary: its exit codes, its files, its signals.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Condition: func(name string) (bool, error) {
			if name != "race" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return raceEnabled, nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("COLUMNS", os.Getenv("COLUMNS"))
			// Charts and a page take several times as long as what is measured here: a script whose
			// commands are to draw them says so.
			env.Setenv("PIPEBENCH_RECORDS_ONLY", "1")
			return nil
		},
	})
}

// status runs a command and demands its exit code: "status 2 pipebench run".
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit %d, want %s", code, want)
	}
}

package turns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/turns/turnstest"
)

// Variables that make this test binary a pipebench whose run command measures nothing. The real
// binary is tested where the command is.
const (
	fakeEnv = "PIPEBENCH_TEST_FAKE_RUN" // what run does: see fakeRun
	// a file in which run notes its rounds, by the name of its folder
	logEnv = "PIPEBENCH_TEST_TURNS_LOG"
)

func TestMain(m *testing.M) {
	dir := os.Args[len(os.Args)-1] // behind --out
	if how, fake := os.LookupEnv(fakeEnv); fake {
		os.Exit(fakeRun(how, dir))
	}
	if path, fake := os.LookupEnv(logEnv); fake {
		if err := fakeRounds(path, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeRun leaves one record of 1,000 ns per message in dir, unless it is to fail.
func fakeRun(how, dir string) int {
	switch how {
	case "usage":
		fmt.Fprintln(os.Stderr, "pipebench: unknown flag: --zork")
		return 2
	case "nothing":
		return 0
	case "die": // between two turns, so that it cannot be given the next
		os.Stdout.Write([]byte{enquiry})
		os.Stdin.Close()
		fmt.Fprintln(os.Stderr, "panic: the build is broken")
		return 7
	case "hang":
		for { // until it is killed
			time.Sleep(time.Hour)
		}
	}
	if err := turnstest.Fake(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fakeRounds takes three rounds, in turns unless its folder is called rude.
func fakeRounds(path, dir string) error {
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	name := filepath.Base(dir)
	if !RecordsOnly() {
		return errors.New("it is not told that nobody looks at its charts")
	}
	for range 3 {
		if name != "rude" {
			err = Turn(context.Background())
		}
		if _, werr := log.WriteString(name + " "); err != nil || werr != nil {
			return errors.Join(err, werr)
		}
		fmt.Println("what a run prints")
	}
	return errors.Join(log.Close(), turnstest.Fake(dir))
}

// deadline bounds what a test of a child waits for.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

var (
	signals   = flag.Int("signals", 0, "signals that TestCampaignOfSignals sends at random moments; 0 leaves it out")
	signalsOf = flag.Uint64("signals-seed", uint64(time.Now().UnixNano()), "of which commands, moments and signals it chooses")
)

// campaign is what is interrupted: every command that measures, serves, or shows, with settings
// under which it has much to clean up. OUT stands for its folder, FILE for a file of earlier records.
var campaign = []string{
	"run --framing raw,ndjson --size 256,1MiB --duration 1ms --out OUT",
	"run --pipe named --framing ndjson --size 4KiB --out OUT",
	"probe --failures --only orphan,no-newline,exit-before-drain --out OUT",
	"probe --failures --only interleave,stderr-undrained,reader-gone --out OUT",
	"probe --out OUT",
	"run --preset limits --out OUT",
	"probe --claims --out OUT",
	"tune --max-time 20s --out OUT",
	"run --repeat 2 --over 10h --out OUT --framing raw --size 256 --samples 2 --duration 1ms",
	"ab SELF SELF --pairs 100 --out OUT -- --framing raw --size 256 --samples 2 --duration 1ms",
	"drive --out OUT -- SELF serve",
	"check --server --out OUT -- SELF serve",
	"drive --find-limit --out OUT -- SELF serve --fault deaf@100000B",
	"drive --protocol lines --out OUT -- sh -c STUBBORN",
	"tap --bodies -o OUT/tap.jsonl -- SELF serve",
	"call SELF serve",
	"serve",
	"report FILE --out OUT",
	"report FILE -o OUT",
	"compare FILE FILE",
}

// stubborn ignores the signals that ask, and the end of its input. tap hands signals on, and lives as
// long as such a server does: it stands in its place.
const stubborn = `trap "" TERM HUP INT; while read -r l; do echo "$l"; done; sleep 3600`

// TestCampaignOfSignals sends signals at random moments to random commands: no process, no
// temporary folder and no named pipe is left, and every record that was finished can be read.
//
//	go test ./cmd/pipebench -run CampaignOfSignals -signals 400 -timeout 60m
func TestCampaignOfSignals(t *testing.T) {
	if *signals == 0 {
		t.Skip("asked for by -signals")
	}
	hearHangUps(t)
	t.Logf("-signals-seed %d", *signalsOf)
	records := filepath.Join(t.TempDir(), recordsFile)
	first := command(t, commandEnv+"=1", "run", "--framing", "raw,ndjson", "--size", "256", "--samples", "2", "--duration", "1ms", "--out", filepath.Dir(records))
	if said, err := first.CombinedOutput(); err != nil {
		t.Fatalf("a file of records: %v\n%s", err, said)
	}
	random := rand.New(rand.NewPCG(*signalsOf, 0))
	for i := range *signals {
		line := campaign[random.IntN(len(campaign))]
		sent := [][]os.Signal{{os.Interrupt}, {syscall.SIGTERM}, {syscall.SIGHUP}, {os.Interrupt, os.Interrupt}}[random.IntN(4)]
		after := time.Duration(random.ExpFloat64() * float64(1500*time.Millisecond))
		t.Run(strings.Fields(line)[0], func(t *testing.T) {
			t.Parallel()
			t.Logf("%d: %s: %v after %s", i, line, sent, after)
			interruptAt(t, line, records, sent, after)
		})
	}
}

func interruptAt(t *testing.T, line, records string, sent []os.Signal, after time.Duration) {
	out, temporary := t.TempDir(), t.TempDir()
	args := strings.Fields(strings.NewReplacer("OUT", out, "FILE", records, "SELF", os.Args[0]).Replace(line))
	if at := slices.Index(args, "STUBBORN"); at >= 0 {
		args[at] = stubborn
	}
	mark := commandEnv + "=" + out
	cmd := command(t, mark, args...)
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Kill() }, time.Minute
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, io.Discard
	in, err := cmd.StdinPipe() // stays open: what ends is not ended by its input
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	for _, s := range sent {
		if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		cmd.Process.Signal(syscall.SIGQUIT)
		<-ended
		t.Fatalf("still there a minute after the signal:\n%s", &said)
	}
	awaitNobody(t, mark)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v\n%s", left, err, &said)
	}
	filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.Type()&fs.ModeNamedPipe != 0:
			t.Errorf("%s: %v, %v", path, e, err)
		case filepath.Ext(path) == ".jsonl":
			if info, _ := e.Info(); info.Size() > 0 {
				if _, err := results.Read(path); err != nil {
					t.Error(err)
				}
			}
		}
		return nil
	})
}

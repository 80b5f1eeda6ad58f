package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/tap"
	"github.com/pipebench/pipebench/syspipe/script"
)

// tapFlags are what tap was asked for, as it was typed.
type tapFlags struct {
	out     string
	options tap.Options
}

func (f *tapFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file of the recording (default pipebench-out/tap-<time>-<pid>.jsonl)")
	addChoice(cmd, &f.options.Protocol, "protocol", tap.Protocols(), "what is spoken: "+strings.Join(tap.Protocols(), ", "))
	addParsed(cmd, &f.options.Framing, "framing", "", framers.Parse,
		"how messages are told apart, as in call (default: found out; malformed lines of a header are skipped)")
	flags.BoolVar(&f.options.Bodies, "bodies", false, "keep what the messages hold, secrets and all")
	flags.BoolVar(&f.options.Redact, "redact", false, "keep the structure and the lengths of what they hold, its values overwritten")
	cmd.MarkFlagsMutuallyExclusive("bodies", "redact")
	complete(cmd, map[string][]string{"framing": callFramings})
}

// run does not return once the command has been started: the process ends as the command does.
func (f *tapFlags) run(cmd *cobra.Command, command []string) {
	o := &f.options
	o.Run = script.Must(results.NewRun())
	file, err := interruptibly(cmd.Context(), f.out, createRecording)
	script.Check(wrap("open the recording, a pipe that nobody reads", cmd.Context().Err()))
	script.Check(err)
	signal.Reset() // what signals mean is up to the server from here on
	defer file.Close()
	env := describeRun(o.Run, 0)
	script.Check(wrap("begin the recording", results.NewWriter(file).Write(env)))
	o.Command, o.Record = command, file
	end, err := tap.Run(*o)
	if end == nil {
		script.Check(err)
		return
	}
	if err := errors.Join(err, file.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "pipebench: tap:", err)
	}
	end.ExitLike()
}

// createRecording makes the file of the recording, which only the user may read: what passed may be secret.
// Without a name several clients may start one each at the same time, and the file is a new one.
func createRecording(path string) (*os.File, error) {
	flag := os.O_APPEND
	if path == "" {
		path = filepath.Join("pipebench-out", fmt.Sprintf("tap-%s-%d.jsonl", time.Now().Format("20060102-150405"), os.Getpid()))
		flag = os.O_EXCL // no link of another user's is followed
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for the recording: %w", err)
	}
	file, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := file.Chmod(0o600); err != nil { // it was there, and others could read it
			return nil, errors.Join(fmt.Errorf("make the recording: %w", err), file.Close())
		}
	}
	return file, nil
}

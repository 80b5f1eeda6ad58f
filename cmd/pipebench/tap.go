package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/tap"
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
	flags.BoolVar(&f.options.Bodies, "bodies", false, "keep what the messages hold, secrets and all")
	flags.BoolVar(&f.options.Redact, "redact", false, "keep the structure and the lengths of what they hold, its values overwritten")
	cmd.MarkFlagsMutuallyExclusive("bodies", "redact")
}

// run does not return once the command has been started: the process ends as the command does.
func (f *tapFlags) run(cmd *cobra.Command, command []string) error {
	o := &f.options
	var err error
	if o.Run, err = results.NewRun(); err != nil {
		return err
	}
	opened := make(chan error, 1)
	var file *os.File
	go func() {
		var err error
		file, err = f.create()
		opened <- err
	}()
	select {
	case err = <-opened:
	case <-cmd.Context().Done():
		err = fmt.Errorf("open the recording, a pipe that nobody reads: %w", cmd.Context().Err())
	}
	if err != nil {
		return err
	}
	defer file.Close()
	env := describeRun(o.Run, 0)
	env.Command = commandLine(tap.RedactCommand(os.Args))
	if err := results.NewWriter(file).Write(env); err != nil {
		return fmt.Errorf("begin the recording: %w", err)
	}
	o.Command, o.Record = command, file
	end, err := tap.Run(*o)
	if end == nil {
		return err
	}
	if err := errors.Join(err, file.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "pipebench: tap:", err)
	}
	end.ExitLike()
	return nil
}

// create makes the file of the recording. Without a name several clients may start one each at the
// same time.
func (f *tapFlags) create() (*os.File, error) {
	path := f.out
	if path == "" {
		path = filepath.Join("pipebench-out", fmt.Sprintf("tap-%s-%d.jsonl", time.Now().Format("20060102-150405"), os.Getpid()))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for the recording: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // what passed may be secret
	if err != nil {
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	return file, nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	out, protocol  string
	bodies, redact bool
}

func newTap() *cobra.Command {
	f := &tapFlags{}
	cmd := &cobra.Command{
		Use:   "tap [-o FILE] [--bodies|--redact] -- COMMAND [ARGUMENT...]",
		Short: "Stand between a stdio client and its server, and record what passes",
		Long: `Start the command and pass its stdin and stdout on, unchanged and unbuffered, while
recording each message: direction, time, size, method, id, how its bytes were cut. Put it
where the command stood in a client's configuration.

It ends as the command ends, with its exit status or by the same signal, and leaves stderr
alone. The recording never holds the traffic up: what it cannot take is counted as a gap.
Without --bodies or --redact it holds no arguments and no results, which may be secrets.`,
		Example: `  pipebench tap -o session.jsonl -- my-server --stdio
  pipebench tap --redact -o session.jsonl -- node server.js
  pipebench report session.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("which command? put it behind --, as in: pipebench tap -- my-server"))
			}
			return usage(cmd.ValidateFlagGroups())
		},
		RunE: func(_ *cobra.Command, args []string) error { return f.tap(args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file of the recording (default pipebench-out/tap-<time>-<pid>.jsonl)")
	flags.StringVar(&f.protocol, "protocol", "auto", "what is spoken: "+strings.Join(tap.Protocols(), ", "))
	flags.BoolVar(&f.bodies, "bodies", false, "keep what the messages hold, secrets and all")
	flags.BoolVar(&f.redact, "redact", false, "keep the structure and the lengths of what they hold, its values overwritten")
	cmd.MarkFlagsMutuallyExclusive("bodies", "redact")
	return cmd
}

// tap does not return once the command has been started: the process ends as the command does.
func (f *tapFlags) tap(command []string) error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	file, err := f.create()
	if err != nil {
		return err
	}
	defer file.Close()
	if err := begin(file, run); err != nil {
		return err
	}
	end, err := tap.Run(tap.Options{
		Command: command, Record: file, Run: run, Protocol: f.protocol, Bodies: f.bodies, Redact: f.redact,
	})
	var start *tap.StartError
	if errors.As(err, &start) {
		return err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipebench: tap:", err)
	}
	if err := file.Close(); err != nil {
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

// begin writes where the recording takes place.
func begin(w io.Writer, run string) error {
	text, err := json.Marshal(describeRun(run, 0))
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("begin the recording: %w", err)
	}
	return nil
}

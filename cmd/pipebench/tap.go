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
)

type tapFlags struct {
	out        string
	wrapFile   string
	unwrapFile string
	options    tap.Options
}

func (f *tapFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "",
		"file of the recording (default pipebench-out/tap-<time>-<pid>.jsonl)")
	addChoice(cmd, &f.options.Protocol, "protocol", tap.Protocols(),
		"what is spoken: "+strings.Join(tap.Protocols(), ", "))
	addParsed(cmd, &f.options.Framing, "framing", "", framers.Parse,
		"how messages are told apart, as in call (default: found out; malformed lines of a header "+
			"are skipped)")
	flags.BoolVar(&f.options.Bodies, "bodies", false,
		"keep what the messages hold, secrets and all")
	flags.BoolVar(&f.options.Redact, "redact", false,
		"keep the structure and the lengths of what they hold, its values overwritten")
	flags.StringVar(&f.wrapFile, "wrap", "",
		"put tap before the servers of a client's configuration, those that are named or all")
	flags.StringVar(&f.unwrapFile, "unwrap", "", "take it away again")
	cmd.MarkFlagsMutuallyExclusive("bodies", "redact")
	cmd.MarkFlagsMutuallyExclusive("wrap", "unwrap")
}

// tapArgs requires a command. With --wrap and --unwrap, the arguments are names of servers.
func tapArgs(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("wrap") || cmd.Flags().Changed("unwrap") {
		return anyArgs(cmd, args)
	}
	check := oneOrMore("which command? put it behind --, as in: pipebench tap -- my-server")
	return check(cmd, args)
}

// run starts a command, passes on its input and output, and records the messages. When the command
// ends, this process exits in the same way. So run returns only if it started no command, as with
// --wrap.
func (f *tapFlags) run(cmd *cobra.Command, args []string) error {
	if f.wrapFile != "" || f.unwrapFile != "" {
		return f.changeConfiguration(cmd, args)
	}
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	file, err := interruptibly(cmd.Context(), f.out, createRecording)
	if cmd.Context().Err() != nil {
		return fmt.Errorf("open the recording, a pipe that nobody reads: %w", cmd.Context().Err())
	}
	if err != nil {
		return err
	}
	defer file.Close()
	signal.Reset() // from here on, the command handles signals, not this process
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		fmt.Fprintf(os.Stderr, "pipebench: tap: %s has a recording: this one goes behind it\n",
			f.out)
	}
	environment := describeRun(run, noSeed)
	environment.PID = os.Getpid()
	err = results.NewWriter(file).Write(environment)
	if err != nil {
		return fmt.Errorf("begin the recording: %w", err)
	}
	o := f.options
	o.Run = run
	o.Command = args
	o.Record = file
	end, err := tap.Run(o)
	if end == nil { // the command was not started
		return err
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipebench: tap:", err)
	}
	end.ExitLike() // does not return
	return nil
}

// createRecording opens a file that only the user can read, to append a recording. If path is "",
// it makes a new file.
func createRecording(path string) (*os.File, error) {
	flag := os.O_APPEND
	if path == "" {
		name := fmt.Sprintf("tap-%s-%d.jsonl", time.Now().Format("20060102-150405"), os.Getpid())
		path = filepath.Join("pipebench-out", name)
		flag = os.O_EXCL // follow no link that another user may have put there
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for the recording: %w", err)
	}
	file, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o600) // messages may be secret
	if err != nil {
		return nil, fmt.Errorf("make the recording: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		// A file that existed before may have been readable for other users.
		if err := file.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("make the recording: %w", err), file.Close())
		}
	}
	return file, nil
}

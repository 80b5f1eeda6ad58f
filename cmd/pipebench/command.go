package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/framers"
)

// flags are the flags of a command, and its run function.
type flags interface {
	register(cmd *cobra.Command)
	run(cmd *cobra.Command, args []string) error
}

// newCommand makes a command from its row and its help text. It registers the flags only if they
// are wanted, because registering flags takes most of the time that pipebench takes to start.
func newCommand(row commandRow, wanted bool) *cobra.Command {
	cmd := withHelp(row.name)
	cmd.Args = row.args
	if row.args == nil {
		cmd.Args = exactly(0, row.name+" takes no arguments")
	}
	f := row.flags()
	cmd.RunE = f.run
	if wanted {
		f.register(cmd)
	}
	return cmd
}

// atLeast demands n arguments or more; says is the error if there are fewer.
func atLeast(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usage(errors.New(says))
		}
		return usage(cmd.ValidateFlagGroups())
	}
}

// exactly demands n arguments; says begins the error if there are fewer or more.
func exactly(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case n:
			return usage(cmd.ValidateFlagGroups())
		case 0:
			return usage(fmt.Errorf("%s; see %s --help", says, cmd.CommandPath()))
		}
		hint := "see " + cmd.CommandPath() + " --help"
		_, err := framers.Parse(args[0])
		if err == nil && cmd.Flags().Lookup("framing") != nil {
			hint = "did you mean --framing " + args[0] + "?"
		}
		got := strings.Trim(fmt.Sprintf("%q", args), "[]") // "a" "b"
		return usage(fmt.Errorf("%s, got %s; %s", says, got, hint))
	}
}

// beforeDash demands n arguments before --. The words behind -- are for both commands.
func beforeDash(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		args, _ = beforeAndAfterDash(cmd, args)
		return exactly(n, says+" (words for both go behind --)")(cmd, args)
	}
}

// beforeAndAfterDash splits the arguments at --.
func beforeAndAfterDash(cmd *cobra.Command, args []string) (before, after []string) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil
	}
	return args[:dash], args[dash:]
}

// atTerminal prints a hint if standard input is a terminal, so that a person knows what the command
// waits for.
func atTerminal(cmd *cobra.Command, hint string) {
	file, ok := cmd.InOrStdin().(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) {
		writeNotice(cmd.ErrOrStderr(), hint)
	}
}

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// flags are the flags of a command, and its run function.
type flags interface {
	register(cmd *cobra.Command)
	run(cmd *cobra.Command, args []string) error
}

// newCommand makes a command from its row and its help text. It registers the flags only if they
// are wanted, since that takes most of the time of a start.
func newCommand(row commandRow, wanted bool) *cobra.Command {
	cmd := withHelp(row.name)
	cmd.Args = row.args
	if row.args == nil {
		cmd.Args = takes(0, 0, row.name+" takes no arguments")
	}
	f := row.flags()
	cmd.RunE = f.run
	if wanted {
		f.register(cmd)
	}
	return cmd
}

const anyNumber = -1 // of arguments

// takes demands a number of arguments, and flags that go together.
func takes(least, most int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		if most == anyNumber && n < least {
			return usage(errors.New(says))
		}
		if most != anyNumber && (n < least || n > most) {
			return usage(fmt.Errorf("%s, but was given %d; see %s --help",
				says, n, cmd.CommandPath()))
		}
		return usage(cmd.ValidateFlagGroups())
	}
}

// beforeDash demands a number of arguments before --, behind which are words for both of them.
func beforeDash(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		args, _ = beforeAndAfterDash(cmd, args)
		return takes(n, n, says+" (words for both go behind --)")(cmd, args)
	}
}

// beforeAndAfterDash tells the arguments before -- from those behind it.
func beforeAndAfterDash(cmd *cobra.Command, args []string) (before, after []string) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil
	}
	return args[:dash], args[dash:]
}

// atTerminal tells a person at a terminal what a command waits for that reads standard input.
func atTerminal(cmd *cobra.Command, hint string) {
	file, ok := cmd.InOrStdin().(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) {
		writeNotice(cmd.ErrOrStderr(), hint)
	}
}

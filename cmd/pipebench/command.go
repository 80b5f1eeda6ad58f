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
// are wanted, because registering flags takes most of the time that pipebench takes to start.
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

// takes checks the number of arguments, and that the flags may be given together.
func takes(least, most int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		if most == anyNumber && n < least {
			return usage(errors.New(says))
		}
		if most != anyNumber && n == 0 && least > 0 {
			return usage(fmt.Errorf("%s; see %s --help", says, cmd.CommandPath()))
		}
		if most != anyNumber && (n < least || n > most) {
			return usage(fmt.Errorf("%s, but was given %d; see %s --help",
				says, n, cmd.CommandPath()))
		}
		return usage(cmd.ValidateFlagGroups())
	}
}

// beforeDash checks the number of arguments before --. The words behind -- are for both commands.
func beforeDash(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		args, _ = beforeAndAfterDash(cmd, args)
		return takes(n, n, says+" (words for both go behind --)")(cmd, args)
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

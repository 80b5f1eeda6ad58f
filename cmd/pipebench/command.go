package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/syspipe/script"
)

// flags are what a command was asked for, as it was typed. A plainCommand or a scriptCommand uses them.
type flags interface {
	register(cmd *cobra.Command)
}

// A plainCommand returns what failed.
type plainCommand interface {
	run(cmd *cobra.Command, args []string) error
}

// A scriptCommand is a script: see syspipe/script.
type scriptCommand interface {
	run(cmd *cobra.Command, args []string)
}

// newCommand makes a command of its help text and its flags. It registers the flags only if they are
// wanted, since that takes most of the time of a start. With nil for args it takes no arguments.
func newCommand(name string, f flags, args cobra.PositionalArgs, wanted bool) *cobra.Command {
	cmd := withHelp(name)
	cmd.Args = args
	if args == nil {
		cmd.Args = takes(0, 0, name+" takes no arguments")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f, plain := f.(plainCommand); plain {
			return f.run(cmd, args)
		}
		return script.Run(func() { f.(scriptCommand).run(cmd, args) })
	}
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
			return usage(fmt.Errorf("%s, but was given %d; see %s --help", says, n, cmd.CommandPath()))
		}
		return usage(cmd.ValidateFlagGroups())
	}
}

// beforeDash demands a number of arguments before --, behind which are flags for run.
func beforeDash(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args = args[:dash]
		}
		return takes(n, n, says+" (flags for run go behind --)")(cmd, args)
	}
}

// atTerminal tells a person at a terminal what a command waits for that reads standard input.
func atTerminal(cmd *cobra.Command, hint string) {
	file, ok := cmd.InOrStdin().(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprintln(cmd.ErrOrStderr(), hint)
	}
}

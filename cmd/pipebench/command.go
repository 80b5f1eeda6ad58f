package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A runner does the work of a command. The type that implements runner has a field for each flag of
// the command.
type runner interface {
	register(cmd *cobra.Command) // adds the flags
	run(cmd *cobra.Command, args []string) error
}

// newCommand makes a command. The command gets its flags only if wanted is true, because adding
// flags takes most of the time in which pipebench starts.
func newCommand(row commandRow, wanted bool) *cobra.Command {
	cmd := withHelp(row.name)
	cmd.Args = row.args
	r := row.newRunner()
	cmd.RunE = r.run
	if wanted {
		r.register(cmd)
	}
	return cmd
}

// anyArgs allows any arguments. It refuses two flags that exclude each other, and "-out=x", which
// pflag reads as "-o ut=x".
func anyArgs(cmd *cobra.Command, _ []string) error {
	out := cmd.Flag("out")
	if out != nil && strings.HasPrefix(out.Value.String(), "ut=") {
		return usageError(fmt.Errorf("-o%s lacks a dash: did you mean --o%[1]s?", out.Value))
	}
	return usageError(cmd.ValidateFlagGroups())
}

// oneOrMore requires at least one argument. missing is the text of the error if there is none.
func oneOrMore(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError(errors.New(missing))
		}
		return anyArgs(cmd, args)
	}
}

// exactly requires n arguments. Its errors begin with says.
func exactly(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case n:
			return anyArgs(cmd, args)
		case 0:
			return usageError(fmt.Errorf("%s; see %s --help", says, cmd.CommandPath()))
		}
		got := strings.Trim(fmt.Sprintf("%q", args), "[]") // "a" "b"
		return usageError(fmt.Errorf("%s, got %s; see %s --help", says, got, cmd.CommandPath()))
	}
}

func beforeAndAfterDash(cmd *cobra.Command, args []string) (before, after []string) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil
	}
	return args[:dash], args[dash:]
}

// atTerminal prints hint, which says what the command waits for, if standard input is a terminal.
func atTerminal(cmd *cobra.Command, hint string) {
	file, ok := cmd.InOrStdin().(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) {
		writeNotice(cmd.ErrOrStderr(), hint)
	}
}

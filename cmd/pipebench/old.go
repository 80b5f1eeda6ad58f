package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// oldCommands are commands of earlier versions. Each has the line to type instead.
var oldCommands = []struct{ name, instead string }{
	{"ab", "pipebench compare OLD-BINARY NEW-BINARY [-- RUN-FLAGS]"},
	{"list", "pipebench help values"},
	{"claims", "pipebench probe --claims"},
	{"doctor", "pipebench probe --machine, or pipebench run --repeat 8 --over 1h -o FOLDER"},
	{"plot", "pipebench report FILE... -o FOLDER"},
	{"profile", "pipebench run --preset limits"},
}

// newOldCommands makes hidden commands that fail and say what to type instead.
func newOldCommands() []*cobra.Command {
	var hidden []*cobra.Command
	for _, old := range oldCommands {
		hidden = append(hidden, &cobra.Command{
			Use:                old.name,
			Short:              "now: " + old.instead,
			Hidden:             true,
			DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usageError(fmt.Errorf("%s has another name now: %s", old.name, old.instead))
			},
		})
	}
	return hidden
}

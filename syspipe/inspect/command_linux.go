package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// interpreters are programs that users know by the script that they run. A version may follow, as
// in python3.12.
var interpreters = []string{
	"bash", "bun", "dash", "deno", "java", "node", "nodejs", "perl", "php", "python", "ruby", "sh",
	"zsh",
}

// commandOf names a process as a user would, with its script or subcommand: "node server.js".
func commandOf(pid int, args []string, name string) string {
	if len(args) == 0 {
		return name
	}
	program := filepath.Base(args[0])
	if program == "pipebench" && len(args) > 1 {
		return program + " " + args[1]
	}
	if !slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) {
		return name
	}
	args = args[1:]
	for i, arg := range args {
		if arg == "-m" && i+1 < len(args) { // python -m MODULE
			return program + " -m " + args[i+1]
		}
		if arg == "" || arg[0] == '-' {
			continue
		}
		base := "cwd" // "cwd" and "root" are links in /proc/PID
		if filepath.IsAbs(arg) {
			base = "root"
		}
		file, err := os.Stat(procfs.Path(pid, base, arg))
		if err == nil && file.Mode().IsRegular() { // the script
			return program + " " + filepath.Base(arg)
		}
	}
	return program
}

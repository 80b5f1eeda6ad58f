package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// interpreters are programs whose names say little: what they run says more. Their names may end in
// a version.
var interpreters = []string{
	"bash", "bun", "dash", "deno", "java", "node", "nodejs", "perl", "php", "python", "ruby", "sh",
	"zsh",
}

// commandOf names a process as its user would: an interpreter with its script, "node server.js",
// and pipebench with its command. The others have the name that the kernel gives them.
func commandOf(pid int, name string) string {
	text, err := procfs.Text(pid, "cmdline")
	if err != nil {
		return name
	}
	args := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	program := filepath.Base(args[0])
	if program == "pipebench" && len(args) > 1 {
		return program + " " + args[1]
	}
	if !slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) {
		return name
	}
	for i, arg := range args[1:] {
		switch {
		case arg == "-m" && i+2 < len(args):
			return program + " -m " + args[i+2]
		case arg == "" || arg[0] == '-':
			continue
		}
		root := "cwd"
		if filepath.IsAbs(arg) {
			root = "root"
		}
		file, err := os.Stat(procfs.Path(pid, root, arg))
		if err == nil && file.Mode().IsRegular() {
			return program + " " + filepath.Base(arg)
		}
	}
	return program
}

package check

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	_ "embed"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// runtimes are the names that interpreters go by.
var runtimes = []struct{ name, program string }{
	{"Node", "node"}, {"Node", "npx"}, {"Node", "npm"}, {"Bun", "bun"}, {"Deno", "deno"}, {"Python", "python"}, {"Python", "uvx"}, {"Python", "pypy"},
	{"JVM", "java"}, {".NET", "dotnet"}, {".NET", "mono"},
}

// runtimeOf finds what a command runs on, by its name, its first line, or marks that compilers leave
// in a program; "" if that is not known. What a shell or env starts counts for it.
func runtimeOf(argv []string) string {
	for depth := 0; depth < 4 && len(argv) > 0; depth++ {
		base := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
		for _, r := range runtimes {
			if version := strings.TrimPrefix(base, r.program); version != base && strings.Trim(version, "0123456789.") == "" || base == r.program {
				return r.name
			}
		}
		switch base {
		case "env", "sh", "bash", "dash", "zsh", "timeout", "nice", "nohup", "stdbuf":
			argv = strings.Fields(strings.Join(argv[1:], " "))
			for len(argv) > 0 && (strings.HasPrefix(argv[0], "-") || argv[0] == "exec" || strings.Contains(argv[0], "=")) {
				argv = argv[1:]
			}
			continue
		}
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return ""
		}
		line, name := lookInto(path)
		if line == nil {
			return name
		}
		argv = line
	}
	return ""
}

// lookInto reads a program: the command of its first line if it is a script, else the runtime.
func lookInto(path string) (script []string, name string) {
	if _, err := buildinfo.ReadFile(path); err == nil {
		return nil, "Go"
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if head, _ := r.Peek(2); string(head) == "#!" {
		line, _ := r.ReadString('\n')
		return strings.Fields(line[2:]), ""
	}
	head, _ := io.ReadAll(io.LimitReader(r, 8<<20))
	for _, m := range []struct{ mark, name string }{{"/rustc/", "Rust"}, {"libhostfxr", ".NET"}, {"libc.so", "C stdio"}, {"libSystem", "C stdio"}, {"msvcrt", "C stdio"}} {
		if bytes.Contains(head, []byte(m.mark)) {
			return nil, m.name
		}
	}
	return nil, ""
}

//go:embed advice.txt
var adviceText string

// advice is what to do about a class of failure on a runtime, by both their names.
var advice = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(adviceText) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		of[name] = text
		if runtime, ok := strings.CutPrefix(name, "lost "); ok {
			of["repeated "+runtime] = text
		}
	}
	return of
})

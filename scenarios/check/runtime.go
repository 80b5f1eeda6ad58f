package check

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// advice is what to do about a class of failure on a runtime.
var advice = map[string]map[string]string{
	"cut": {
		"Node":    "set process.exitCode and return instead of calling process.exit, which drops what the stream has queued",
		"Bun":     "await Bun.write(Bun.stdout, …), or set process.exitCode and return instead of calling process.exit",
		"Deno":    "await the writes to Deno.stdout, in a loop over their counts, before Deno.exit",
		"Python":  "flush sys.stdout before os._exit, and look at the counts of os.write and of raw writes",
		"Go":      "flush bufio writers before os.Exit, which runs no defers",
		"Rust":    "flush writers before std::process::exit, which drops nothing for you, and use write_all",
		"JVM":     "flush streams and writers before System.exit or halt",
		".NET":    "flush writers before Environment.Exit, or set AutoFlush",
		"C stdio": "end by exit, not _exit, and look at the counts of write",
	},
	"lost": {
		"Node":    "leave standard output to process.stdout; fs.writeSync returns a count, and throws EAGAIN",
		"Python":  "go on at characters_written of BlockingIOError, or set os.set_blocking(1, True)",
		"Go":      "write by os.Stdout, which waits for room, not by raw system calls",
		"Rust":    "on WouldBlock wait with poll and go on at the count: write_all forgets it",
		"C stdio": "on EAGAIN wait with poll and go on at the count; stdio forgets what it had buffered",
	},
	"leave": {
		"Node":    "listen to the error event of process.stdout, and exit on EPIPE",
		"Python":  "let BrokenPipeError end the program; do not catch OSError around every print",
		"Go":      "leave SIGPIPE alone, or stop at the first error that wraps syscall.EPIPE",
		"Rust":    "return on ErrorKind::BrokenPipe; a result that is dropped by let _ = never ends a loop",
		"JVM":     "ask System.out.checkError() in the loop: a PrintStream throws nothing",
		"C stdio": "leave SIGPIPE alone, or look at the result of write and fflush",
	},
	"full": {
		"Node":    "console.log drops errors: write by process.stdout, and listen to its error event",
		"Python":  "do not catch OSError around print, and flush before the end",
		"Go":      "look at the errors of fmt.Fprint, Flush and Close",
		"Rust":    "look at the results of write and flush",
		"JVM":     "ask System.out.checkError() at the end: a PrintStream throws nothing",
		".NET":    "flush Console.Out and let the IOException through",
		"C stdio": "look at fflush(stdout) or fclose(stdout) at the end: printf has only buffered",
	},
	"buffer": {
		"Python":  "print(…, flush=True), python -u or PYTHONUNBUFFERED=1",
		"Go":      "Flush the bufio.Writer after each line that somebody waits for",
		"Rust":    "flush the BufWriter after each line that somebody waits for",
		"JVM":     "flush after each line, or make the PrintStream with autoFlush",
		".NET":    "set AutoFlush on the StreamWriter",
		"C stdio": "setvbuf(stdout, NULL, _IOLBF, 0) at the start, or run it by stdbuf -oL",
	},
	"memory": {
		"Node":   "when write returns false wait for drain, or use stream.pipeline",
		"Bun":    "await each flush of the writer before the next write",
		"Python": "await writer.drain() after each write",
		"Go":     "bound the channel between producer and writer",
		"JVM":    "bound the queue between producer and writer",
		".NET":   "bound the Channel between producer and writer",
	},
}

func init() { advice["repeated"] = advice["lost"] }

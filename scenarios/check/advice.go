package check

import (
	"bufio"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Classes of mistakes that programs make. For the classes in the first group, the map named advice
// says how to correct the program.
const (
	classCut    = "cut"    // the end of the output is missing
	classLost   = "lost"   // a part of the output is missing, or comes twice
	classLeave  = "leave"  // the program goes on after its reader has left
	classFull   = "full"   // the program does not notice that the device has no room
	classBuffer = "buffer" // the program holds lines back in a buffer
	classMemory = "memory" // the program keeps unread output in memory

	classAltered = "altered" // bytes differ from the expected ones
	classLonger  = "longer"  // more bytes or lines come than were expected
	classSpin    = "spin"    // the program burns a CPU while it waits

	classInterrupted = "interrupted" // the check was interrupted before this was judged
)

// advice says how to correct a program, by the class of its mistake and then by its runtime.
var advice = map[string]map[string]string{
	classCut: {
		"Node": "set process.exitCode and return instead of calling process.exit, which drops " +
			"what the stream has queued",
		"Python": "call os.set_blocking(1, True): a non-blocking pipe takes a part of what " +
			"os.write, or an unbuffered print (-u or PYTHONUNBUFFERED), gives it; and flush " +
			"sys.stdout before os._exit",
		"Go":   "flush bufio writers before os.Exit, which runs no defers",
		"JVM":  "flush streams and writers before System.exit or halt",
		".NET": "flush writers before Environment.Exit, or set AutoFlush",
	},
	classLost: {
		"Node": "leave standard output to process.stdout; fs.writeSync returns a count, and " +
			"throws EAGAIN",
		"Python": "call os.set_blocking(1, True) at the start, or go on at characters_written of " +
			"BlockingIOError",
		"Go": "write by os.Stdout, which waits for room, not by raw system calls",
	},
	classLeave: {
		"Node":   "listen to the error event of process.stdout, and exit on EPIPE",
		"Python": "let BrokenPipeError end the program; do not catch OSError around every print",
		"Go":     "leave SIGPIPE alone, or stop at the first error that wraps syscall.EPIPE",
		"JVM":    "ask System.out.checkError() in the loop: a PrintStream throws nothing",
	},
	classFull: {
		"Node": "console.log and process.exit drop errors: write by process.stdout, listen to " +
			"its error event, and return instead of calling process.exit",
		"Python": "do not catch OSError around print, and flush before the end",
		"Go":     "look at the errors of fmt.Fprint, Flush and Close",
		"JVM":    "ask System.out.checkError() at the end: a PrintStream throws nothing",
		".NET":   "flush Console.Out and let the IOException through",
	},
	classBuffer: {
		"Python": "print(…, flush=True), or python -u",
		"Go":     "Flush the bufio.Writer after each line that somebody waits for",
		"JVM":    "flush after each line, or make the PrintStream with autoFlush",
		".NET":   "set AutoFlush on the StreamWriter",
	},
	classMemory: {
		"Node":   "when write returns false wait for drain, or use stream.pipeline",
		"Python": "await writer.drain() after each write",
		"Go":     "bound the channel between producer and writer",
		"JVM":    "bound the queue between producer and writer",
		".NET":   "bound the Channel between producer and writer",
	},
}

// adviceFor returns advice about a class of mistakes for the language runtime of a command. It
// returns "" if there is no such advice.
func adviceFor(class string, command []string) string {
	return advice[class][runtimeOf(command)]
}

// FlushWarning warns if the variable PYTHONUNBUFFERED hides whether a Python program flushes. It is
// "" for an option -u, which hides nothing: it is there wherever the program is started.
func (o Options) FlushWarning() string {
	environment := (&exec.Cmd{Env: o.Env}).Environ()
	isSet := slices.ContainsFunc(environment, func(v string) bool {
		return strings.HasPrefix(v, "PYTHONUNBUFFERED=") && v != "PYTHONUNBUFFERED="
	})
	if !isSet || slices.Contains(o.Command, "-u") || runtimeOf(o.Command) != "Python" {
		return ""
	}
	return "PYTHONUNBUFFERED is set, and hides if the program does not flush: try it without, " +
		"too, as clients may start it so"
}

// about returns what a finding is about: the command, after the variable that hides a missing flush
// if that is set.
func (o Options) about() []string {
	if o.FlushWarning() != "" {
		return append([]string{"PYTHONUNBUFFERED=1"}, o.Command...)
	}
	return o.Command
}

// runtimes lists programs that are a language runtime or start one, each with the runtime's name.
var runtimes = []struct{ program, name string }{
	{"node", "Node"},
	{"npx", "Node"},
	{"npm", "Node"},
	{"python", "Python"},
	{"uvx", "Python"},
	{"pypy", "Python"},
	{"java", "JVM"},
	{"dotnet", ".NET"},
	{"mono", ".NET"},
}

// starters are programs that start the command in their arguments.
var starters = []string{"env", "sh", "bash", "dash", "zsh", "timeout", "nice", "nohup", "stdbuf",
	"exec"}

// runtimeOf returns the language runtime of a command, such as "Python", or "" if none is certain.
// It is named by the command or in the first line of its script, or is Go. If the command only
// starts another command, as env does, the runtime of that other command counts.
func runtimeOf(argv []string) string {
	name, program := runtimeNamed(argv)
	path, err := exec.LookPath(program)
	if name != "" || err != nil {
		return name
	}
	if _, err := buildinfo.ReadFile(path); err == nil {
		return "Go"
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	first, _ := bufio.NewReader(io.LimitReader(f, 1<<10)).ReadString('\n') // short, if at all
	interpreter, isScript := strings.CutPrefix(first, "#!")
	if isScript {
		name, _ = runtimeNamed(strings.Fields(interpreter))
	}
	return name
}

// runtimeNamed returns the language runtime that a command names, such as Python for "python3.12
// server.py". If no runtime is named, it returns the program that the command starts.
func runtimeNamed(argv []string) (runtime, program string) {
	// an argument may hold several words, as in sh -c 'node server.js'
	for _, word := range strings.Fields(strings.Join(argv, " ")) {
		base := strings.TrimSuffix(filepath.Base(word), ".exe")
		for _, r := range runtimes {
			version, ok := strings.CutPrefix(base, r.program)
			if ok && strings.Trim(version, "0123456789.") == "" {
				return r.name, ""
			}
		}
		isFlag := strings.HasPrefix(word, "-") || strings.Contains(word, "=")
		if !isFlag && !slices.Contains(starters, base) {
			return "", word
		}
	}
	return "", ""
}

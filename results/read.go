package results

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// maxLine is the most bytes that a line may have. A message of 128 MiB fits, even if each byte is
// escaped as \u00xx.
const maxLine = 1 << 30

// ErrEmpty means that a file has no readable line, or that no run fits a [Filter].
var ErrEmpty = errors.New("no results")

// Read reads the files that [Find] lists for the paths. It fails only if a path stands for no file,
// or if no file can be read. All other faults become Problems of the set.
func Read(paths ...string) (*Set, error) {
	set := &Set{}
	problems, err := Each(set.Add, paths...)
	if err != nil {
		return nil, err
	}
	set.Problems = problems
	return set, nil
}

// Each reads files as [Read] does, but calls the function take with each line at once and keeps no
// line in memory.
func Each(take func(Line), paths ...string) ([]Problem, error) {
	if len(paths) == 0 {
		return nil, errors.New("read results: no file named")
	}
	files, err := Find(paths...)
	if err != nil {
		return nil, err
	}
	runs := runsRead{cells: make(map[string]int)}
	seen := make(seenLines)
	var problems []Problem
	var failed []error
	for _, path := range files {
		found, err := eachInPath(path, seen, func(line Line) {
			runs.add(line)
			take(line)
		})
		if err != nil {
			found = []Problem{{File: path, What: err.Error(), Incomplete: true}}
			failed = append(failed, fmt.Errorf("read results: %s: %w", path, err))
		}
		problems = append(problems, found...)
	}
	if len(seen) == 0 && len(failed) > 0 {
		return nil, failed[0]
	}
	return append(problems, runs.endedEarly()...), nil
}

func eachInPath(path string, seen seenLines, take func(Line)) ([]Problem, error) {
	name, f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return eachLine(name, f, seen, take)
}

// ReadFrom reads one results file from r. The name is shown in problems and errors.
func ReadFrom(name string, r io.Reader) (*Set, error) {
	set := &Set{}
	problems, err := EachFrom(name, r, set.Add)
	if err != nil {
		return nil, err
	}
	set.Problems = problems
	return set, nil
}

// EachFrom reads one results file from r, as [Each] does.
func EachFrom(name string, r io.Reader, take func(Line)) ([]Problem, error) {
	problems, err := eachLine(name, r, make(seenLines), take)
	if err != nil {
		return nil, fmt.Errorf("read results: %s: %w", name, err)
	}
	return problems, nil
}

// eachLine reads the lines of one file. The name is shown in problems.
func eachLine(name string, r io.Reader, seen seenLines, take func(Line)) ([]Problem, error) {
	f := &fileReader{
		take:      take,
		problems:  ProblemList{File: name},
		seen:      seen,
		positions: make(map[string]int),
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	number := 0
	for lines.Scan() {
		number++
		f.line(number, lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line of more than %s", FormatSize(maxLine))
		}
		if f.taken == 0 {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		f.problems.AddIncomplete(number+1, err.Error()+": the rest of the file is missing", "")
	}
	if f.taken == 0 && f.repeated == 0 {
		what := "the file is empty"
		if len(f.problems.All) > 0 {
			what = f.problems.All[0].String()
		}
		return nil, fmt.Errorf("%w: %s", ErrEmpty, what)
	}
	return f.problems.All, nil
}

type fileReader struct {
	take      func(Line)
	problems  ProblemList
	seen      seenLines
	taken     int            // number of lines passed to take
	repeated  int            // number of lines that were seen before
	positions map[string]int // by run: number of its messages since its environment
	run       string         // of the last line
}

// seenLines has, for each line, the name of the file in which the line was found first. Later
// copies of a line are skipped.
type seenLines map[lineID]string

// A lineID identifies a line by its hash. Two messages may be equal, so the ID of a message also
// has its position in the run.
type lineID struct {
	hash     [16]byte
	position int
}

// identify returns an ID that a line shares only with its copies. It counts messages, so it must be
// called once for each line, in order.
func (f *fileReader) identify(line Line, text []byte) lineID {
	sum := sha256.Sum256(text)
	id := lineID{hash: [16]byte(sum[:16])}
	switch line.kind() {
	case KindEnvironment:
		f.positions[line.run()] = 0
	case KindMessage:
		f.positions[line.run()]++
		id.position = f.positions[line.run()]
	}
	return id
}

// line decodes one line, or adds a problem if the line cannot be used.
func (f *fileReader) line(number int, text []byte) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) == 0 {
		return
	}
	line, err := decode(text)
	if err == nil {
		f.add(number, line, text)
		return
	}
	rest, next := lineAfterTorn(text)
	tornInStart := bytes.HasPrefix(lineStart, text)
	tornLater := bytes.HasPrefix(text, lineStart) && !json.Valid(text)
	switch {
	case next != nil:
		f.problems.AddIncomplete(number, tornLine, f.tornRun(text))
		f.add(number, next, rest)
	case tornInStart, tornLater:
		f.problems.AddIncomplete(number, tornLine, f.tornRun(text))
	default:
		f.problems.Add(number, err.Error()+": line skipped")
	}
}

// tornRun returns the run of a torn line: that of the line before it. It returns "" if a new run
// may begin here.
func (f *fileReader) tornRun(text []byte) string {
	environment := append(slices.Clone(lineStart), KindEnvironment...)
	if n := min(len(text), len(environment)); bytes.Equal(text[:n], environment[:n]) {
		return ""
	}
	return f.run
}

// lineStart is the beginning of every line from a [Writer].
var lineStart = []byte(`{"kind":"`)

const tornLine = "torn line skipped: the program that wrote it was stopped midway"

// lineAfterTorn finds the whole line that stands behind a line that was cut off, without a newline
// in between.
func lineAfterTorn(text []byte) ([]byte, Line) {
	for range 8 { // objects inside the torn line may begin in the same way
		next := bytes.Index(text[1:], lineStart)
		if next < 0 {
			return nil, nil
		}
		text = text[1+next:]
		if line, err := decode(text); err == nil {
			return text, line
		}
	}
	return nil, nil
}

// add calls f.take with a line, unless the same line was read before.
func (f *fileReader) add(number int, line Line, text []byte) {
	e, isEnvironment := line.(Environment)
	if isEnvironment && e.Schema > Schema {
		f.problems.Add(number, fmt.Sprintf("schema %d is newer than this program's %d: "+
			"what it added is not shown", e.Schema, Schema))
	}
	f.run = line.run()
	id := f.identify(line, text)
	if first, again := f.seen[id]; again {
		f.repeated++
		why := fmt.Sprintf("the same line was read from %s: not counted twice", first)
		f.problems.Add(number, why)
		return
	}
	f.seen[id] = f.problems.File
	f.taken++
	f.take(line)
}

// decode decodes a line of any kind. A line that no [Writer] would write is an error.
func decode(text []byte) (Line, error) {
	// Invalid UTF-8 is replaced here. Otherwise, it would stay in the evidence of findings, and a
	// results file must be valid UTF-8.
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	kind, err := kindOf(text)
	if err != nil {
		return nil, fmt.Errorf("not a line of a results file: %w", err)
	}
	var line Line
	switch kind {
	case "":
		return nil, errors.New("no kind")
	case KindEnvironment:
		line, err = decodeAs[Environment](text)
	case KindMeasurement:
		line, err = decodeAs[Record](text)
	case KindFinding:
		line, err = decodeAs[Finding](text)
	case KindTarget:
		line, err = decodeAs[Target](text)
	case KindMessage:
		line, err = decodeAs[Message](text)
	default:
		return nil, fmt.Errorf("kind %q is not known to this version", kind)
	}
	if err != nil {
		return nil, err
	}
	return line, validate(line)
}

// kindOf returns the kind of a line. A [Writer] always puts the kind first.
func kindOf(text []byte) (string, error) {
	if rest, first := bytes.CutPrefix(text, lineStart); first {
		kind, _, _ := bytes.Cut(rest, []byte(`"`))
		return string(kind), nil
	}
	var head struct{ Kind string }
	err := json.Unmarshal(text, &head)
	return head.Kind, err
}

func decodeAs[L Line](text []byte) (Line, error) {
	var line L
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, fmt.Errorf("%s: %w", line.kind(), err)
	}
	return line, nil
}

// A Problem is what a person should know about results that were read: a line was skipped, or a run
// looks odd. Reading goes on all the same.
type Problem struct {
	File string `json:"file"` // "" if a run has the problem
	Line int    `json:"line"` // first line with the problem, from 1; 0: the whole file
	What string `json:"what"`
	More int    `json:"more,omitempty"` // number of further lines with the problem
	Run  string `json:"-"`              // the run that has the problem; "" if that is not known

	// Incomplete is set if measurements are missing because a file or a run ended early.
	Incomplete bool `json:"incomplete,omitempty"`
}

// String returns "file:line: what", ready for a terminal.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.What
	case p.Line == 0:
		return p.File + ": " + p.What
	case p.More == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
	}
	return fmt.Sprintf("%s:%d: %s (and %d more such lines)", p.File, p.Line, p.What, p.More)
}

// A ProblemList collects the problems of one file. Lines with the same problem share one entry.
type ProblemList struct {
	File string
	All  []Problem
	seen map[string]int // by What: the index in All
}

// Add adds the problem of one line of the file.
func (p *ProblemList) Add(line int, what string) {
	if i, ok := p.seen[what]; ok {
		p.All[i].More++
		return
	}
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	p.seen[what] = len(p.All)
	p.All = append(p.All, Problem{File: p.File, Line: line, What: what})
}

// AddIncomplete is [ProblemList.Add] for a problem that makes the measurements of a run incomplete.
// The run is "" if it is not known, or if several runs have the problem.
func (p *ProblemList) AddIncomplete(line int, what, run string) {
	p.Add(line, what)
	added := &p.All[p.seen[what]]
	if added.More > 0 && added.Run != run {
		run = ""
	}
	added.Run = run
	added.Incomplete = true
}

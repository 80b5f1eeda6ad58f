package results

import "fmt"

// A Problem is what a reader could not take from a file, and skipped. It is
// for the person to know, not a failure.
type Problem struct {
	File string
	Line int // the first line that has it, from 1
	What string
	More int // further lines of the file with the same problem
}

// String is "file:line: what", ready for a terminal.
func (p Problem) String() string {
	if p.More == 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
	}
	return fmt.Sprintf("%s:%d: %s (and %d more such lines)", p.File, p.Line, p.What, p.More)
}

// problems collects what is wrong with one file, the same thing once: a file
// of a newer version may have a thousand lines of a kind not known here.
type problems struct {
	file string
	all  []Problem
	seen map[string]int // what -> index in all
}

func (p *problems) add(line int, what string) {
	if i, ok := p.seen[what]; ok {
		p.all[i].More++
		return
	}
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	p.seen[what] = len(p.all)
	p.all = append(p.all, Problem{File: p.file, Line: line, What: what})
}

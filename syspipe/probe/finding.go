package probe

import (
	"fmt"

	"github.com/pipebench/pipebench/syspipe"
)

// A Finding is one thing that an experiment found.
type Finding struct {
	Pipe       syspipe.Kind `json:"pipe"`
	Step       string       `json:"step"`  // such as "capacity/fill/2049"
	Value      any          `json:"value"` // a number, a string or a bool
	Unit       string       `json:"unit,omitempty"`
	How        string       `json:"how"`                  // the experiment, in a line
	Documented string       `json:"documented,omitempty"` // what the rule of this system predicts, and its source
	Agrees     *bool        `json:"agrees,omitempty"`     // nil where nothing is documented
}

// String returns the finding as a line of text.
func (f Finding) String() string {
	s := fmt.Sprintf("%s %s = %v", f.Pipe, f.Step, f.Value)
	if f.Unit != "" {
		s += " " + f.Unit
	}
	return s + " (" + f.Verdict() + ")"
}

// Verdict returns "agrees" or "differs", "documented" where a rule is known that predicts no value, or "not documented".
func (f Finding) Verdict() string {
	switch {
	case f.Agrees == nil && f.Documented != "":
		return "documented"
	case f.Agrees == nil:
		return "not documented"
	case *f.Agrees:
		return "agrees"
	}
	return "differs"
}

// beside lays the finding beside what a rule predicts for it.
func (f Finding) beside(predicted any, source string) Finding {
	agrees := fmt.Sprint(f.Value) == fmt.Sprint(predicted)
	f.Agrees = &agrees
	f.Documented = fmt.Sprint(predicted)
	if f.Unit != "" {
		f.Documented += " " + f.Unit
	}
	if source != "" {
		f.Documented += " (" + source + ")"
	}
	return f
}

package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Filter passes on the lines of runs that meet all its conditions. The zero value passes on all
// lines.
type Filter struct {
	conditions []condition
	fits       map[string]bool   // by run whose environment was read: whether the environment fits
	waiting    map[string][]Line // by run: lines read before its environment
	keys       map[string]bool   // all keys that environments have
	values     []map[string]bool // by condition: values in environments that do not meet it
	passed     int               // number of lines passed on
}

// A condition says what a field or a label of an environment must be.
type condition struct {
	key, value string
	part       bool // the field need only contain the value
}

// ParseFilter parses conditions on a run's environment. "os=linux" means that the field or label os
// must equal linux, and "kernel~6.1" that kernel must contain 6.1. Upper and lower case are the
// same.
func ParseFilter(conditions ...string) (*Filter, error) {
	f := &Filter{
		fits:    make(map[string]bool),
		waiting: make(map[string][]Line),
		keys:    make(map[string]bool),
	}
	for _, text := range conditions {
		at := strings.IndexAny(text, "=~")
		if at <= 0 || at == len(text)-1 {
			return nil, fmt.Errorf("condition %q: want KEY=VALUE, or KEY~PART", text)
		}
		f.conditions = append(f.conditions, condition{
			key:   text[:at],
			value: strings.ToLower(text[at+1:]),
			part:  text[at] == '~',
		})
		f.values = append(f.values, make(map[string]bool))
	}
	return f, nil
}

// Through returns a function to pass to [Each]. It calls take with each line whose run meets the
// conditions. A line is held back until the environment of its run is read.
func (f *Filter) Through(take func(Line)) func(Line) {
	if len(f.conditions) == 0 {
		return take
	}
	return func(line Line) {
		run := line.run()
		e, isEnvironment := line.(Environment)
		if isEnvironment {
			f.fits[run] = f.fitsAll(e)
		}
		lines := append(f.waiting[run], line)
		fits, known := f.fits[run]
		if !known {
			f.waiting[run] = lines
			return
		}
		delete(f.waiting, run)
		if fits {
			f.passed += len(lines)
			for _, l := range lines {
				take(l)
			}
		}
	}
}

func (f *Filter) fitsAll(e Environment) bool {
	fields := environmentFields(e)
	for key := range fields {
		f.keys[key] = true
	}
	all := true
	for i, c := range f.conditions {
		// If a label and a field have the same name, the condition may fit either of them.
		if !c.fits(fields[c.key]) && !c.fits(e.Labels[c.key]) {
			all = false
			f.values[i][cmp.Or(e.Labels[c.key], fields[c.key])] = true
		}
	}
	return all
}

func (c condition) fits(value string) bool {
	value = strings.ToLower(value)
	if c.part {
		return strings.Contains(value, c.value)
	}
	return value == c.value
}

// Relevant returns problems without those of runs that did not meet the conditions.
func (f *Filter) Relevant(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool {
		return p.Run != "" && len(f.conditions) > 0 && !f.fits[p.Run]
	})
}

// Err returns an error if there are conditions and no line passed. The error says what the runs
// have instead.
func (f *Filter) Err() error {
	if len(f.conditions) == 0 || f.passed > 0 {
		return nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(f.keys)), ", ")
	for _, c := range f.conditions {
		if !f.keys[c.key] {
			return fmt.Errorf("no run has %q; known are %s", c.key, known)
		}
	}
	var found, without []string
	for i, c := range f.conditions {
		values := slices.Sorted(maps.Keys(f.values[i]))
		if f.values[i][""] {
			values = values[1:] // "" is sorted first
			without = append(without, "some runs have no "+c.key)
		}
		if more := len(values) - mostValues; more > 0 {
			values = append(values[:mostValues], fmt.Sprintf("%d more", more))
		}
		if len(values) > 0 {
			found = append(found, c.key+" "+strings.Join(values, ", "))
		}
	}
	return fmt.Errorf("%w: no run fits all conditions; there are %s", ErrEmpty,
		strings.Join(append(found, without...), "; "))
}

// mostValues is how many values of a field an error names.
const mostValues = 10

// environmentFields returns the fields and the labels of an environment, by name. A field replaces
// a label of the same name.
func environmentFields(e Environment) map[string]string {
	fields := make(map[string]string)
	for key, value := range e.Labels {
		fields[key] = value
	}
	e.Labels = nil
	text, _ := json.Marshal(e) // cannot fail, as e was read
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // which prints as it stands in the file
	var values map[string]any
	decoder.Decode(&values)
	for key, value := range values {
		fields[key] = fmt.Sprint(value)
	}
	return fields
}

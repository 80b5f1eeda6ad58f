package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
)

// difference says where an answer differs from the recorded one. The result is "" if they do not
// differ.
func (r *replay) difference(recorded *payload.Message, answer []byte) string {
	var was, is map[string]any
	err := errors.Join(json.Unmarshal(recorded.Body, &was), json.Unmarshal(answer, &is))
	if err != nil {
		return err.Error()
	}
	delete(was, "id")
	delete(is, "id")
	o := outline{ignore: r.ignore, redacted: recorded.Redacted}
	then := map[string]string{} // descriptions of values, by path
	now := map[string]string{}
	o.add(then, "answer", was)
	o.add(now, "answer", is)
	paths := slices.AppendSeq(slices.Collect(maps.Keys(then)), maps.Keys(now))
	slices.Sort(paths)
	for _, path := range paths {
		switch {
		case then[path] == "":
			return path + " was not there"
		case now[path] == "":
			return path + " is missing"
		case then[path] != now[path]:
			return fmt.Sprintf("%s is %s, not %s", path, now[path], then[path])
		}
	}
	return ""
}

// An outline describes the values in an answer by their types and lengths. Only an error code is
// described by its value.
type outline struct {
	ignore   []string // names of members that are not compared
	redacted bool     // values were overwritten, so only types and members are compared
}

// add describes a decoded JSON value, and all values in it, by their paths.
func (o outline) add(to map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		to[path] = "an object"
		for name, v := range value {
			if !slices.Contains(o.ignore, name) {
				o.add(to, path+"."+name, v)
			}
		}
	case []any:
		to[path] = fmt.Sprintf("a list of %d", len(value))
		for i, v := range value {
			o.add(to, fmt.Sprintf("%s[%d]", path, i), v)
		}
	case string:
		to[path] = "a text"
		if !o.redacted {
			to[path] = fmt.Sprintf("a text of %d bytes", len(value))
		}
	case float64:
		to[path] = "a number"
		if path == "answer.error.code" && !o.redacted {
			to[path] = fmt.Sprint(value)
		}
	case nil:
		to[path] = "null"
	default:
		to[path] = "true or false"
	}
}

package framers

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// specs are the framings in the order of All, with how a spec's argument makes one.
var specs = []struct {
	name, arg string
	make      func(size int) (Framing, error)
}{
	{"raw", "N", Raw},
	{"ndjson", "", plain(NDJSON)},
	{"ndjson-bytewise", "", plain(Bytewise)},
	{"ndjson-rescan", "", plain(Rescan)},
	{"content-length", "", plain(ContentLength)},
	{"chunked", "size", func(size int) (Framing, error) { return Chunked(size) }},
	{"adaptive", "size", func(size int) (Framing, error) { return Adaptive(size) }},
	{"length-prefix", "", plain(LengthPrefix)},
}

func plain(f func() Framing) func(int) (Framing, error) {
	return func(int) (Framing, error) { return f(), nil }
}

// Parse returns the framing of a spec: a name of [All] and, where the framing takes one, a colon and a size, such as
// "chunked:60KiB", "chunked:4k" or "raw:61440". Without a size, a chunk is [DefaultChunk] and raw does not know its
// messages. The suffixes k, M and G, also as kb or KiB, count in powers of 1024, in either case.
func Parse(spec string) (Framing, error) {
	name, arg, sized := strings.Cut(spec, ":")
	for _, s := range specs {
		if s.name != name {
			continue
		}
		size := 0
		if sized {
			if s.arg == "" {
				return nil, fmt.Errorf("framing %q: %s takes no argument", spec, name)
			}
			var err error
			if size, err = parseSize(arg); err != nil {
				return nil, fmt.Errorf("framing %q: %w", spec, err)
			}
		}
		f, err := s.make(size)
		if err != nil {
			return nil, fmt.Errorf("framing %q: %w", spec, err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("unknown framing %q: known are %s", spec, known())
}

func known() string {
	var names []string
	for _, s := range specs {
		name := s.name
		if s.arg != "" {
			name += "[:" + s.arg + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// All returns every framing of the package once, with its default size.
func All() []Framing {
	all := make([]Framing, 0, len(specs))
	for _, s := range specs {
		if f, err := s.make(0); err == nil {
			all = append(all, f)
		}
	}
	return all
}

// parseSize reads a positive number of bytes with an optional suffix.
func parseSize(s string) (int, error) {
	digits := strings.TrimRight(s, "bBgGiIkKmM")
	shift, ok := map[string]int{
		"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
	}[strings.ToLower(s[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !ok || n == 0 {
		return 0, fmt.Errorf("size %q is not a positive number of bytes such as 61440 or 60KiB", s)
	}
	if n > uint64(math.MaxInt)>>shift {
		return 0, fmt.Errorf("size %q is beyond what this machine can address", s)
	}
	return int(n) << shift, nil
}

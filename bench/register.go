package bench

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/pipebench/pipebench/framers"
)

// registered holds the framings that Register was given, by their names.
var registered sync.Map

// Register makes the caller's own framing f known to [Run] under the name f.String(), in this
// process and in the workers that Run starts. Call it before [Worker], in main or TestMain. It
// panics if package framers has a framing of that name, because that framing would be measured
// instead of f.
//
// A framing of the caller's own cannot read a [framers.Option]. So a cell with the framing f is
// unsupported if it sets a read buffer, a read offset or a write size (see [framers.Framing]).
func Register(f framers.Framing) {
	name := f.String()
	if _, err := framers.Parse(name); err == nil {
		panic(fmt.Sprintf("bench.Register: framers has a framing %q: give yours a name of its own",
			name))
	}
	registered.Store(name, f)
}

// parseFraming returns the framing of a spec. It may be a framing of package framers or a
// registered one.
func parseFraming(spec string) (framers.Framing, error) {
	f, err := framers.Parse(spec)
	if err == nil {
		return f, nil
	}
	if own, ok := registered.Load(spec); ok {
		return own.(framers.Framing), nil
	}
	return nil, err
}

// CheckRegistered returns an error if a worker that looks for f by its name would find nothing or
// another framing. The figures of the other framing would be taken for those of f.
func CheckRegistered(f framers.Framing) error {
	known, err := parseFraming(f.String())
	if err != nil {
		return fmt.Errorf("%w; for one of your own, call bench.Register before bench.Worker, "+
			"in TestMain", err)
	}
	if reflect.TypeOf(known) != reflect.TypeOf(f) {
		return fmt.Errorf("framing %q is %T, not %T: give yours a name of its own",
			f.String(), known, f)
	}
	return nil
}

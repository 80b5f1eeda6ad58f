package bench

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/pipebench/pipebench/framers"
)

var registered sync.Map

// Register makes your own framing f known to this package under the name f.String(). Call it in
// main or TestMain before [Worker], so that worker processes know f too. Register panics if its
// name is empty, or if another framing has it.
//
// Workers collect no garbage while they measure. So a framing that allocates looks slower than in a
// program that reuses memory after a collection: most of its allocations use new memory.
func Register(f framers.Framing) {
	name := f.String()
	if _, err := parseFraming(name); err == nil || name == "" {
		panic(fmt.Sprintf("bench.Register: the name %q is empty or taken: give f a name of its own",
			name))
	}
	registered.Store(name, f)
}

func parseFraming(spec string) (framers.Framing, error) {
	f, err := framers.Parse(spec)
	if err == nil {
		return f, nil
	}
	if own, ok := registered.Load(spec); ok {
		return own.(framers.Framing), nil
	}
	return nil, fmt.Errorf("%w; for one of your own, call bench.Register before bench.Worker, in "+
		"main or TestMain", err)
}

// CheckRegistered returns an error if a worker process could not find f by its name, because the
// name is unknown or belongs to another framing.
func CheckRegistered(f framers.Framing) error {
	known, err := parseFraming(f.String())
	if err != nil {
		return err
	}
	if reflect.TypeOf(known) != reflect.TypeOf(f) {
		return fmt.Errorf("framing %q is %T, not %T: give yours a name of its own",
			f.String(), known, f)
	}
	return nil
}

package mcpstdio

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

// A Fault is a way in which a server misbehaves, as scenarios/faults/catalogue lists them. Its spec is a kind, and where the kind
// takes one a size in bytes:
//
//	deaf@1MiB    messages up to 1 MiB are served; the first larger one triggers the fault
//	trickle=16B  a quantity of the fault itself
//	reorder      takes none
//
// Sizes are of the message, its terminator not counted. The zero Fault is none.
type Fault struct {
	Kind  string // a name of the catalogue
	Bytes int64  // threshold or quantity
}

// ParseFault reads a spec.
func ParseFault(spec string) (Fault, error) {
	name, size := spec, ""
	if i := strings.IndexAny(spec, "@="); i >= 0 {
		name, size = spec[:i], spec[i:]
	}
	kind, err := faultKind(name)
	if err != nil {
		return Fault{}, err
	}
	f := Fault{Kind: name, Bytes: kind.Default}
	if size == "" {
		return f, nil
	}
	if kind.Sign == 0 {
		return Fault{}, fmt.Errorf("fault %s: takes no size, got %q", name, size)
	}
	if size[0] != kind.Sign {
		return Fault{}, fmt.Errorf("fault %s: write its size as %s%cSIZE, got %q", name, name, kind.Sign, spec)
	}
	n, err := results.ParseSize(size[1:])
	if err != nil {
		return Fault{}, fmt.Errorf("fault %s: %w", name, err)
	}
	f.Bytes = n
	return f, f.check()
}

func faultKind(name string) (catalogue.Misbehaviour, error) {
	m, err := catalogue.Find(catalogue.Server, name)
	if err != nil {
		err = fmt.Errorf("unknown fault %q: %w", name, err)
	}
	return m, err
}

// check reports what is wrong with a Fault that was not parsed.
func (f Fault) check() error {
	if f == (Fault{}) {
		return nil
	}
	kind, err := faultKind(f.Kind)
	if err != nil {
		return err
	}
	if f.Bytes < 0 || kind.Sign == '=' && f.Bytes == 0 {
		return fmt.Errorf("fault %s: a size of %d bytes does nothing: want more", f.Kind, f.Bytes)
	}
	return nil
}

// String returns the spec of f, which ParseFault takes back; "" for none.
func (f Fault) String() string {
	kind, err := faultKind(f.Kind)
	if err != nil {
		return f.Kind
	}
	return kind.Spec(f.Bytes)
}

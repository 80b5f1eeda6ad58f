package script_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pipebench/pipebench/syspipe/script"
)

func TestTheFirstErrorEndsAScript(t *testing.T) {
	first := errors.New("the first")
	err := script.Run(func() {
		if script.Must(1, nil) != 1 {
			panic("must changed a value")
		}
		script.Check(fmt.Errorf("wrapped: %w", first))
		panic("it went on")
	})
	if !errors.Is(err, first) {
		t.Errorf("got %v", err)
	}
}

func TestAnotherPanicGoesOn(t *testing.T) {
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("recovered %v", r)
		}
	}()
	script.Run(func() { panic("mine") })
}

func ExampleOf() {
	n, err := script.Of(func() int {
		a, b := script.Must2(1, 2, nil)
		return a + b
	})
	fmt.Println(n, err)
	// Output: 3 <nil>
}

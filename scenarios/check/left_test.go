package check_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
)

// Nothing is adopted in this process, as on a system that cannot adopt.
func TestWhatIsLeftBehindCannotBeToldWithoutAdoption(t *testing.T) {
	for _, side := range []catalogue.Side{catalogue.Server, catalogue.Client} {
		f, found := check.EndAdopted(check.Options{Command: []string{"x"}}, side)
		if !found || f.Verdict != results.CannotTell || f.Found == "" || f.Advice != "" {
			t.Errorf("%s: %v, %+v", side, found, f)
		}
	}
	// a command may leave a daemon on purpose: nothing would be judged
	if f, found := check.EndAdopted(check.Options{}, catalogue.Program); found {
		t.Errorf("a program: %+v", f)
	}
}

package machine

import (
	"strings"

	"golang.org/x/sys/windows/registry"

	"github.com/pipebench/pipebench/results"
)

// usualPipe is unknown: pipes have the capacity that was asked for.
const usualPipe = 0

const smallPipeAdvice = ""

// systemChecks is at what systemFaults looks.
var systemChecks = []string{"power scheme"}

// saver is the power scheme "Power saver"; every Windows has it under this GUID.
const saver = "a1841308-3541-4fab-bc81-f71556f20b4a"

func systemFaults() []results.Fault {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes`, registry.QUERY_VALUE)
	if err != nil {
		return nil
	}
	defer key.Close()
	if scheme, _, err := key.GetStringValue("ActivePowerScheme"); err != nil || !strings.EqualFold(scheme, saver) {
		return nil
	}
	return []results.Fault{{ID: "power", Verdict: "the power scheme saves power", Advice: "powercfg /setactive SCHEME_MIN"}}
}

// systemUsage is not told by a call that x/sys has.
func systemUsage() Usage { return Usage{} }

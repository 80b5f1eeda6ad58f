package machine

import (
	"fmt"
	"strings"

	"golang.org/x/sys/windows"
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

func systemFaults(results.Environment) []results.Fault {
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

// describe fills in what Windows tells. Virtualisation, governor and load are not told by a call that
// x/sys has, and a pipe is as large as was asked for. Wine is known by what its system library alone
// has.
func describe(env *results.Environment) {
	v := windows.RtlGetVersion()
	env.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		env.Imitation = "imitated by Wine"
	}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return
	}
	defer key.Close()
	env.CPU, _, _ = key.GetStringValue("ProcessorNameString") // empty where unknown
}

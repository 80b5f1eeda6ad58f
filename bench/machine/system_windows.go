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

func kernel() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

func cpuModel() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	model, _, _ := key.GetStringValue("ProcessorNameString") // empty where unknown
	return model
}

// virtualisation, governor and load1 are not told by a call that x/sys has.
func virtualisation() string { return "" }

func governor() string { return "" }

func load1() *float64 { return nil }

// imitation tells Wine by what its system library alone has.
func imitation() string {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		return "imitated by Wine"
	}
	return ""
}

// pipeMaxSize is not a setting here: a pipe is as large as was asked for.
func pipeMaxSize() int { return 0 }

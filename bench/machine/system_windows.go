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

// systemTraits are what Windows tells.
var systemTraits = []trait{
	{id: "power", name: "power scheme", found: powerScheme, always: true,
		advice: "powercfg /setactive SCHEME_MIN"},
}

const schemes = `SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes`

// saver is the power scheme "Power saver"; every Windows has it under this GUID.
const saver = "a1841308-3541-4fab-bc81-f71556f20b4a"

func powerScheme(env results.Environment) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, schemes, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	scheme, _, err := key.GetStringValue("ActivePowerScheme")
	if err != nil || !strings.EqualFold(scheme, saver) {
		return ""
	}
	return "the power scheme saves power"
}

// systemUsage is not told by a call that x/sys has.
func systemUsage() Usage { return Usage{} }

// describe fills in what Windows tells. Virtualisation, governor and load are not told by a call
// that x/sys has, and a pipe is as large as was asked for. Wine is known by what its system
// library alone has.
func describe(env *results.Environment) {
	v := windows.RtlGetVersion()
	env.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		env.Imitation = "imitated by Wine"
	}
	const processor = `HARDWARE\DESCRIPTION\System\CentralProcessor\0`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, processor, registry.QUERY_VALUE)
	if err != nil {
		return
	}
	defer key.Close()
	env.CPU, _, _ = key.GetStringValue("ProcessorNameString") // empty where unknown
}

package machine

import (
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/pipebench/pipebench/results"
)

// systemFaults returns nothing: Windows tells of no further fault.
func systemFaults() []Fault { return nil }

// systemUsage returns nothing: x/sys has no call that tells it.
func systemUsage() Usage { return Usage{} }

// describe fills in what Windows tells. For virtualisation, governor and load x/sys has no call,
// and a pipe is as large as was asked for. Wine is recognised by a function that only its ntdll
// has.
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

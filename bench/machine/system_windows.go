package machine

import (
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/pipebench/pipebench/results"
)

// systemFaults returns nothing: Windows tells of no faults besides those that [Faults] looks for.
func systemFaults() []Fault { return nil }

// systemUsage returns a usage that is marked as unknown, because golang.org/x/sys has no call to
// read it.
func systemUsage() Usage { return Usage{} }

// describe fills in what calls of golang.org/x/sys tell about the machine.
func describe(env *results.Environment) {
	v := windows.RtlGetVersion()
	env.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	wineOnly := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
	if wineOnly.Find() == nil {
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

package machine

import (
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

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

func load1() float64 { return 0 }

// pipeMaxSize is not a setting here: a pipe is as large as was asked for.
func pipeMaxSize() int { return 0 }

//go:build !linux && !darwin && !freebsd && !windows

package machine

import "github.com/pipebench/pipebench/results"

// usualPipe is unknown here.
const usualPipe = 0

const smallPipeAdvice = ""

// systemLooked is at what systemFaults looks.
var systemLooked []string

func systemFaults() []results.Fault { return nil }

func systemUsage() Usage { return Usage{} }

package tap

import (
	"os"
	"os/exec"
)

// forwardedSignals is what a console's Ctrl-C is. The server is of the same console and gets it, too; we only stay until it has ended.
var forwardedSignals = []os.Signal{os.Interrupt}

func signalOf(*os.ProcessState) (number int, name string, ok bool) { return 0, "", false }

func dieBySignal(int) {}

func setPdeathsig(*exec.Cmd) {}

// Package probe finds out by experiment what the pipes of this machine do, and compares what it
// finds with the documented rules.
//
//	func main() {
//		proc.Worker() // first of all
//		err := probe.Run(ctx, probe.Options{}, func(f probe.Finding) error {
//			_, err := fmt.Println(f)
//			return err
//		})
//	}
//
// Nothing is assumed: the size of a slot, the capacity and the limits are measured, and what the
// rules predict is computed from those. Every experiment runs in a process of its own, started from
// this same program, so that one which hangs is killed at its deadline and is a finding too. It is
// started as [proc] describes, so main (and TestMain) must call [proc.Worker] before anything else.
//
// Run uses no state of the process but its executable; several may run at once, to the detriment of
// the times they measure. What another machine would find is not promised: the rules of other
// systems are in [Rules], marked as read and not measured.
package probe

// Package inspect looks at the pipes and sockets of a process that is running, or hanging, and says
// what is wrong with them.
//
//	report, err := inspect.Over(ctx, pid, time.Second)
//	if err != nil {
//		return err
//	}
//	for _, d := range report.Diagnoses {
//		fmt.Println(d.Sentence)
//	}
//
// It reads /proc, needs no privilege for one's own processes, and does not disturb them: nothing is
// traced, stopped, read from or written to. To ask a pipe for its fill it opens it a second time,
// for some microseconds and in a mode in which somebody has it open already, so a reader or writer
// who leaves in just that moment is noticed that much later by the other side.
//
// What it returns is no consistent picture: the processes go on while it looks. [Over] looks twice,
// and so sees that nothing moves, and who is busy with nothing. Only Linux is supported; elsewhere the error wraps
// [errors.ErrUnsupported]. Calls may run concurrently.
package inspect

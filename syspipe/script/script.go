// Package script lets an experiment, or a command, be written as what it does, one step after the
// other: the first step that fails ends it, and whoever ran it gets the error. A function whose
// comment calls it a script is a part of one, and ends the whole where it fails.
//
//	err := script.Run(func() {
//		w, r := open()
//		defer w.Close()
//		script.Must(w.Write(message))
//		script.Check(r.SetReadDeadline(soon))
//		got = script.Must(io.ReadAll(r))
//	})
//
// What a script opens it closes by defer, which runs on a failure too. Check and Must work on the
// goroutine of Run alone: a goroutine that a script starts hands its error back instead.
package script

// A failure is the error that ends a script.
type failure struct{ error }

// Run runs f and returns the error that ended it, nil if it came to its end. Any other panic goes
// on.
func Run(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()
	f()
	return nil
}

// Of runs f as [Run] does and returns its result, which is the zero value where it failed.
func Of[T any](f func() T) (v T, err error) {
	err = Run(func() { v = f() })
	return v, err
}

// Check ends the script if err is not nil.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns v, unless the error that came with it ends the script.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Must2 is [Must] for two values.
func Must2[T, U any](v T, u U, err error) (T, U) {
	Check(err)
	return v, u
}

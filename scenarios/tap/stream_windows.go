package tap

import "os"

// open leaves a file as it is: Go's pipes are synchronous here, and wait in the kernel anyway.
func open(f *os.File) (stream, error) { return file{f}, nil }

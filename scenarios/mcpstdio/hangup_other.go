//go:build !unix

package mcpstdio

// hungUp reports false: the system tells of an end only behind all that is to be read.
func hungUp(any) bool { return false }

package catalogue

import (
	"strings"
	"sync"
)

// Texts takes a file apart when it is first asked for: a name and a text per line.
func Texts(file string) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		of := map[string]string{}
		for line := range strings.Lines(file) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
			of[name] = text
		}
		return of
	})
}

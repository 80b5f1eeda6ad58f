package bench

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Worker()
	os.Exit(m.Run())
}

package main

import "testing"

func TestRunsOfOneSecondHaveFoldersOfTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	for range 20 { // of which two begin in the same second, at least
		dir, err := new(sharedFlags).makeFolder()
		if err != nil {
			t.Fatal(err)
		}
		if seen[dir] {
			t.Errorf("%s is another run's", dir)
		}
		seen[dir] = true
	}
}

func TestAFolderThatIsNamedIsGoneOnIn(t *testing.T) {
	t.Chdir(t.TempDir())
	f := &sharedFlags{out: "a/b"}
	for range 2 {
		if dir, err := f.makeFolder(); dir != "a/b" || err != nil {
			t.Errorf("%s, %v", dir, err)
		}
	}
}

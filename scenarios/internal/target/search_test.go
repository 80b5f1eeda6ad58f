package target

import (
	"testing"
	"time"
)

func TestASearchFindsTheExactByteSoon(t *testing.T) {
	for _, row := range []struct{ limit, mostTries int }{
		{64 << 10, 11},
		{64<<10 - 1, 12}, // a limit that counts the terminator
		{1_000_000, 14},
		{200_000, 30},
		{999, 14}, // the first size that is tried is too large
	} {
		tries := 0
		s := Search{First: 1 << 10, Factor: 2, Most: 16 << 20, Least: 100}
		err := s.Run(time.Time{}, func(size int) (bool, error) {
			tries++
			return size <= row.limit, nil
		})
		if err != nil || s.Low != row.limit || s.High != row.limit+1 || s.IsLate() {
			t.Errorf("%d: found %+v, %v", row.limit, s, err)
		}
		if tries > row.mostTries {
			t.Errorf("%d: took %d tries, want %d at most", row.limit, tries, row.mostTries)
		}
	}
}

func TestASearchWithoutALimitGoesToItsEnd(t *testing.T) {
	s := Search{First: 1 << 10, Factor: 4, Most: 3 << 20}
	err := s.Run(time.Time{}, func(int) (bool, error) { return true, nil })
	if err != nil || s.Low != 3<<20 || s.High != 0 || s.IsLate() {
		t.Errorf("found %+v, %v", s, err)
	}
	late := Search{First: 1 << 10, Factor: 4, Most: 3 << 20}
	err = late.Run(time.Now(), func(int) (bool, error) { return true, nil })
	if err != nil || !late.IsLate() {
		t.Errorf("found %+v, %v, when the time was up", late, err)
	}
}

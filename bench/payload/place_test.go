package payload

import "testing"

func TestMessagesAreTheSameWhereverTheyLie(t *testing.T) {
	for _, size := range []int{0, 1, 15, 256, 4000, 4096, 65_000} {
		for _, offset := range []int{0, 1, 128, 4095} {
			plain, placed, spread := generated(t, size), generated(t, size), generated(t, size)
			placed.Place(offset)
			spread.Place(offset)
			spread.Spread()
			for i := range int64(3) {
				if err := plain.Compare(i, placed.Message(i)); err != nil {
					t.Errorf("placed: %v", err)
				}
				if err := plain.Compare(i, spread.Message(i)); err != nil {
					t.Errorf("spread: %v", err)
				}
				if size >= pageSize && Offset(spread.Body(i)) != offset {
					t.Errorf(
						"copy %d of %d B begins at %d, want %d", i, size, Offset(spread.Body(i)),
						offset,
					)
				}
			}
			if got := Offset(placed.Body(0)); size > 0 && got != offset {
				t.Errorf("%d B begin at %d, want %d", size, got, offset)
			}
			if spread.Distinct() != 1 || spread.Bytes(3, 5) != plain.Bytes(3, 5) {
				t.Errorf("spread messages of %d B count as others do not", size)
			}
		}
	}
}

func TestFreshMessagesDoNotShareMemory(t *testing.T) {
	s := generated(t, 65_000)
	s.Spread()
	if &s.Body(0)[0] == &s.Body(1)[0] {
		t.Error("two messages in a row lie in one place")
	}
	if n := int64(len(s.copies)); &s.Body(0)[0] != &s.Body(n)[0] || n*65_000 < spreadMemory*9/10 {
		t.Errorf("%d copies, not in turn", n)
	}
	second := s.Body(1)
	s.Skip(1)
	if &s.Body(0)[0] != &second[0] {
		t.Error("the next job does not go on with the next copy")
	}
}

func TestRecordedMessagesArePlacedBehindEachOther(t *testing.T) {
	r := NewRecording([][]byte{[]byte("one"), []byte("three"), []byte("twelve")})
	s := r.Source()
	s.Place(100)
	if Offset(s.Body(0)) != 100 || Offset(s.Body(1)) != 103 || string(s.Body(2)) != "twelve" {
		t.Errorf("at %d and %d: %q", Offset(s.Body(0)), Offset(s.Body(1)), s.Body(2))
	}
}

func generated(t *testing.T, size int) *Source {
	t.Helper()
	s, err := Generate("json", size, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

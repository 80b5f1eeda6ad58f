package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var errLongLine = errors.New("line too long")

// A lineReader gives the lines of a file, of any length up to max.
type lineReader struct {
	r      *bufio.Reader
	max    int
	number int // of the line that next gave last, from 1
	buf    bytes.Buffer
}

// next is the next line without its newline, valid until the next call; torn
// if the file ends before its newline. A line above max is read past and given
// as errLongLine; reading can go on.
func (l *lineReader) next() (text []byte, torn bool, err error) {
	l.buf.Reset()
	l.number++
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if l.buf.Len()+len(part) > l.max {
			long = true
			l.buf.Reset()
		}
		if !long {
			l.buf.Write(part)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(part) == 0 && l.buf.Len() == 0 && !long {
			return nil, false, io.EOF
		}
		if err != nil && err != io.EOF {
			return nil, false, err
		}
		if long {
			return nil, false, fmt.Errorf("%w: more than %s", errLongLine, FormatSize(int64(l.max)))
		}
		return bytes.TrimSuffix(l.buf.Bytes(), []byte("\n")), err == io.EOF, nil
	}
}

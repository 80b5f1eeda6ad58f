package drive

import "strings"

// A sequel is a small message that goes with a larger one, and carries its number wherever idMark stood.
type sequel struct {
	msg []byte
	at  []int // where the number stands
}

func newSequel(text string) *sequel {
	q := &sequel{msg: []byte(text)}
	for from := 0; ; {
		i := strings.Index(text[from:], idMark)
		if i < 0 {
			return q
		}
		q.at = append(q.at, from+i)
		from += i + idDigits
	}
}

// number makes it the one of the i-th copy of its shape.
func (q *sequel) number(i int64) []byte {
	for _, at := range q.at {
		decimals(q.msg[at:at+idDigits], idOf(i))
	}
	return q.msg
}

// sendShape writes the shape's i-th copy, and what is to be answered in its place if it has no answer itself.
func (c *conn) sendShape(s *shape, i int64) error {
	if err := c.send(s.number(i)); err != nil || s.question == nil {
		return err
	}
	return c.send(s.question.number(i))
}

// conclude says that a message has served its purpose, to a server that is to know. A failure is met by the next request, too.
func (d *Driver) conclude(c *conn, s *shape, i int64) {
	if s.farewell == nil {
		return
	}
	msg := s.farewell.number(i)
	stuck := c.watch(d.deadline(len(msg)))
	_ = c.send(msg)
	stuck.end(state{})
}

package child

import "sync"

// maxQueued is the number of bytes of messages above which an inbox is full.
const maxQueued = 64 << 20

// An inbox is a queue of messages. One goroutine puts messages in, and one takes them out.
type inbox struct {
	mu     sync.Mutex
	queue  []Message
	bytes  int
	closed bool

	come chan struct{} // has an element when there may be a message
	room chan struct{} // has an element when there may be room
}

func (b *inbox) init() {
	b.come = make(chan struct{}, 1)
	b.room = make(chan struct{}, 1)
}

// put adds a message. If the inbox is full, put waits. After close, put drops the message.
func (b *inbox) put(m Message) {
	for !b.add(m) {
		<-b.room
	}
	ring(b.come)
}

// add adds a message. It returns false if the inbox is full. After close, add drops the message and
// returns true.
func (b *inbox) add(m Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return true
	}
	if b.bytes > maxQueued {
		return false
	}
	b.queue = append(b.queue, m)
	b.bytes += len(m.Raw)
	return true
}

// take removes the first message, if there is one.
func (b *inbox) take() (Message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return Message{}, false
	}
	m := b.queue[0]
	b.queue[0] = Message{} // so that the garbage collector can free the message
	b.queue = b.queue[1:]
	b.bytes -= len(m.Raw)
	ring(b.room)
	return m, true
}

// close wakes the goroutines that wait. Messages that are in the inbox can still be taken.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	ring(b.room)
	ring(b.come)
}

// ring puts an element into bell, unless there is one already.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

package framers

import "golang.org/x/sys/unix"

// pieces are what is left of a gather list. macOS has no stable system call numbers, so x/sys makes
// the iovecs.
type iovecs struct {
	all  [][]byte
	left [][]byte
}

func (p *iovecs) set(bufs [][]byte) {
	p.all = p.all[:0]
	for _, b := range bufs {
		if len(b) > 0 {
			p.all = append(p.all, b)
		}
	}
	p.left = p.all
}

func (p *iovecs) clear() {
	clear(p.all)
	p.left = nil
}

func (p *iovecs) empty() bool { return len(p.left) == 0 }

func (p *iovecs) write(fd int) (int, error) {
	return unix.Writev(fd, p.left[:min(len(p.left), maxGather)])
}

func (p *iovecs) advance(n int) {
	for n > 0 {
		b := p.left[0]
		if n < len(b) {
			p.left[0] = b[n:]
			return
		}
		n -= len(b)
		p.left = p.left[1:]
	}
}

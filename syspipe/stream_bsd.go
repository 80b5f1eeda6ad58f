//go:build darwin || freebsd

package syspipe

var supportedKinds = []Kind{Anonymous, FIFO, SocketPair, Unix}

func newStream(Kind) stream { return nil }

func openPTY() (w, r *End, err error)            { return nil, nil, PTY.Supported() }
func openRing(int) (w, r *End, err error)        { return nil, nil, Ring.Supported() }
func mapRing(int, direction) (e *End, err error) { return nil, Ring.Supported() }

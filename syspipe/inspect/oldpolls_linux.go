package inspect

// oldPolls are poll, select, epoll_wait of the architectures that still have them. The newer ones, arm64 among them, have only the p-calls.
var oldPolls = map[int]bool{}

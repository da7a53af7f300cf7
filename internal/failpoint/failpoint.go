package failpoint

import "sync/atomic"

// Name is the name of one place.
type Name string

// listener is who is told; nil in production.
var listener atomic.Pointer[func(Name)]

// Hit tells the listener, if there is one, that a goroutine has come to a place.
func Hit(n Name) {
	if f := listener.Load(); f != nil {
		(*f)(n)
	}
}

// Set makes f the one listener of this process, nil none. It is called on the
// goroutine that has come to the place, and by many at once.
func Set(f func(Name)) {
	if f == nil {
		listener.Store(nil)
		return
	}
	listener.Store(&f)
}

package failpoint

import "sync/atomic"

// Name is the name of one failpoint.
type Name string

// listener is the function that Hit calls; nil in production.
var listener atomic.Pointer[func(Name)]

// Hit calls the listener, if there is one.
func Hit(n Name) {
	if f := listener.Load(); f != nil {
		(*f)(n)
	}
}

// Set makes f the only listener of this process. nil removes it. Several goroutines may call f at
// the same time.
func Set(f func(Name)) {
	if f == nil {
		listener.Store(nil)
		return
	}
	listener.Store(&f)
}

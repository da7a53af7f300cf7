// Package failpoint marks the critical places of a replica's code: before and after a write is
// durable, between planning and proposing, between winning an election and acting on it.
//
//	func (d *driver) propose() {
//		…
//		failpoint.Hit(failpoint.BatchClosed)
//		d.proposed <- entry
//	}
//
// In production there is no listener, and Hit is a load and a comparison. A simulation or a fault
// injector sets a listener, which pauses the goroutine at the failpoint or kills the process there.
//
// A name is never reused for another place. Hit must be called without a locked mutex, because the
// listener may sleep.
package failpoint

// Package failpoint marks the critical places of a replica's code: before and after a write is
// durable, between planning and proposing, between winning an election and acting on it.
//
//	func (d *driver) propose() {
//		…
//		failpoint.Hit(failpoint.BatchClosed)
//		d.proposed <- entry
//	}
//
// In production nothing listens, and Hit is a load and a comparison. A simulation or a fault
// injector listens with Set: it pauses the goroutine at the failpoint, or ends the process there.
//
// A name is never reused for another place. Hit is called while no mutex is held, because a
// listener may sleep.
package failpoint

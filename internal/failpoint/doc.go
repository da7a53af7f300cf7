// Package failpoint marks the places where the fate of a replica is decided: before
// and after a write is durable, between planning and proposing, between winning
// an election and acting on it.
//
//	func (d *driver) propose() {
//		…
//		failpoint.Hit(failpoint.BatchClosed)
//		d.proposed <- entry
//	}
//
// In a running product nobody listens and Hit is a load and a comparison. A
// simulation, or a program built for breaking, listens with Set: it holds the
// goroutine back there, or ends the process exactly there.
//
// Names are never reused for another place. Hit is called while no mutex is held:
// a listener may sleep.
package failpoint

package cluster

// turn is a lock that is held while others are asked. It is a channel because in virtual time the clock
// stands still for who waits in a sync.Mutex.
type turn chan struct{}

// Lock takes the turn.
func (t turn) Lock() { t <- struct{}{} }

// Unlock gives it back.
func (t turn) Unlock() { <-t }

func newTurn() turn { return make(turn, 1) }

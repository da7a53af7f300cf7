package raftstore

// Mutex is a lock that may be held during disk or network I/O. It is a channel because virtual time
// does not advance while a goroutine waits for a sync.Mutex.
type Mutex chan struct{}

// NewMutex returns an unlocked Mutex.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock waits for the lock.
func (m Mutex) Lock() { m <- struct{}{} }

// Unlock releases the lock.
func (m Mutex) Unlock() { <-m }

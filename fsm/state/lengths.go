package state

import (
	"rmd/fsm/state/length"
	"rmd/fsm/state/part"
	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(32, "lengths",
	func(s *State) *table.Table[record.LengthsSlot, Lengths] { return &s.Lengths.Table }, (*Lengths).Code))

// enoughLengths is the number of lengths below which LengthsOf prefers a wider history.
const enoughLengths = 10

// LengthsOf returns the narrowest history with enough lengths for an application's containers, or
// nil if there is none yet.
func (s *Running) LengthsOf(a *App) (best *Lengths) {
	for _, key := range s.lengthKeys(a) {
		if slot := s.Lengths.At(key); slot != 0 {
			if l := s.Lengths.Get(slot); best == nil || l.Total() >= enoughLengths {
				best = l
			}
		}
	}
	return best
}

// lengthKeys returns the keys of an application's histories, widest first.
func (s *Accounts) lengthKeys(a *App) [4]uint64 {
	queue := table.Mix(s.Queues.HashOf(a.Queue))
	user := table.Mix(queue ^ table.Hash(s.Names.Text(a.User))) // its number may become that of another user
	return [...]uint64{record.LengthsOfAll, queue, user, table.Mix(user ^ a.NameHash)}
}

// Alike returns a hash that is equal for applications of one name of a user in a queue, as in the
// narrowest history of lengths.
func (s *Accounts) Alike(a *App) uint64 { return s.lengthKeys(a)[3] }

// recordLength records the length of a container that ends now. It skips AMs, which run as long as
// their application, containers that no AM received, which did not run, and preempted containers,
// which would have run longer.
func (s *Running) recordLength(a *App, c *Container) {
	if c.AM || c.GrantedIn == 0 || a.Queue == 0 || c.ExitStatus == yarn.ExitPreempted {
		return
	}
	bucket := length.Bucket(s.Meta.NowMillis - c.AllocatedMillis)
	for _, key := range s.lengthKeys(a) {
		slot := s.Lengths.At(key)
		if slot == 0 {
			slot = s.Lengths.Add(key)
		}
		l := s.Lengths.Mut(slot)
		l.Used = s.Meta.Completed
		l.Add(bucket)
		s.fold(uint64(slot)<<32 | uint64(bucket)<<8 | uint64(l.Counts[bucket]))
	}
}

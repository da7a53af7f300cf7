package state

import (
	"rmd/fsm/state/length"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Histories is the table of histories of lengths.
type Histories struct {
	table.Table[LengthsSlot, Lengths]
}

// The state records how long containers ran, so that any replica can estimate when running
// containers will end. A history covers all containers, those of a queue, of a user in a queue, or
// of the applications of one name of a user in a queue. There are at most lengthSets*lengthWays
// histories. The key of a history chooses its set. In a full set, a new history replaces the one
// that was not used for the longest time.
const (
	lengthSets = 1024
	lengthWays = 4
)

// enoughLengths is the number of lengths below which LengthsOf prefers a wider history.
const enoughLengths = 10

// Lengths is the histogram of the lengths of some containers.
type Lengths struct {
	Key  uint64 // a hash that identifies the containers; see lengthKeys
	Used uint64 // Meta.Completed when a length was last recorded
	length.Histogram
}

// LengthsOf returns the narrowest history with enough lengths for an application's containers, or
// nil if there is none yet.
func (s *Running) LengthsOf(a *App) (best *Lengths) {
	for _, key := range s.lengthKeys(a) {
		if slot := s.Lengths.at(key); slot != 0 {
			if l := s.Lengths.Get(slot); best == nil || l.Total() >= enoughLengths {
				best = l
			}
		}
	}
	return best
}

// OfAll returns the history of all containers, or nil if there is none yet.
func (h *Histories) OfAll() *Lengths {
	if slot := h.at(lengthsOfAll); slot != 0 {
		return h.Get(slot)
	}
	return nil
}

// lengthsOfAll is the key of the history of all containers.
const lengthsOfAll = 1

// lengthKeys returns the keys of an application's histories, widest first.
func (s *Accounts) lengthKeys(a *App) [4]uint64 {
	queue := table.Mix(s.Queues.HashOf(a.Queue))
	user := table.Mix(queue ^ table.Hash(s.Names.Text(a.User))) // its number may become that of another user
	return [...]uint64{lengthsOfAll, queue, user, table.Mix(user ^ a.nameHash)}
}

// Alike returns a hash that is equal for applications of one name of a user in a queue, as in the
// narrowest history of lengths.
func (s *Accounts) Alike(a *App) uint64 { return s.lengthKeys(a)[3] }

// hashOfAppName hashes an application's name without its digits. The names of a recurring job often
// differ only by a date or a number.
func hashOfAppName(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < '0' || c > '9' {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}

// at returns the slot of a history, or 0 if there is none.
func (h *Histories) at(key uint64) LengthsSlot {
	first := firstLengths(key)
	for slot := first; slot < first+lengthWays; slot++ {
		if h.Has(slot) && h.Get(slot).Key == key {
			return slot
		}
	}
	return 0
}

func firstLengths(key uint64) LengthsSlot { return 1 + LengthsSlot(key%lengthSets)*lengthWays }

// recordLength records the length of a container that ends now. It skips AMs, which run as long as
// their application, containers that no AM received, which did not run, and preempted containers,
// which would have run longer.
func (s *Running) recordLength(a *App, c *Container) {
	if c.AM || c.GrantedIn == 0 || a.Queue == 0 || c.ExitStatus == yarn.ExitPreempted {
		return
	}
	bucket := length.Bucket(s.Meta.NowMillis - c.AllocatedMillis)
	for _, key := range s.lengthKeys(a) {
		slot := s.Lengths.at(key)
		if slot == 0 {
			slot = s.Lengths.add(key)
		}
		l := s.Lengths.Mut(slot)
		l.Used = s.Meta.Completed
		l.Add(bucket)
		s.fold(uint64(slot)<<32 | uint64(bucket)<<8 | uint64(l.Counts[bucket]))
	}
}

// add adds a history and returns its slot.
func (h *Histories) add(key uint64) LengthsSlot {
	first := firstLengths(key)
	oldest := first
	for slot := first; slot < first+lengthWays; slot++ {
		if !h.Has(slot) {
			h.Place(slot).Key = key
			return slot
		}
		if h.Get(slot).Used < h.Get(oldest).Used {
			oldest = slot
		}
	}
	*h.Mut(oldest) = Lengths{Key: key}
	return oldest
}

func (l *Lengths) code(c *codec.Coder) {
	c.U64(&l.Key)
	c.U64(&l.Used)
	l.Histogram.Code(c)
}

package state

import (
	"math/bits"

	"rmd/internal/codec"
	"rmd/yarn"
)

// Histories is the table of histories of lengths.
type Histories struct{ Table[LengthsSlot, Lengths] }

// The state records how long containers ran, so that any replica can estimate when running
// containers will end. A history covers all containers, those of a queue, of a user in a queue, or
// of the applications of one name of a user in a queue. There are at most lengthSets*lengthWays
// histories. The key of a history chooses its set. In a full set, a new history replaces the one
// that was not used for the longest time.
const (
	lengthSets = 1024
	lengthWays = 4
)

// Lengths are counted in two buckets per doubling, up to 77 days. When a count would exceed
// maxLengthCount, all counts of the history are halved, so that recent lengths weigh more.
const (
	LengthBuckets  = 54
	lengthUnit     = 50 // milliseconds; lengths below two units are in the first bucket
	maxLengthCount = 100
	enoughLengths  = 10 // with fewer lengths, LengthsOf prefers a wider history
)

// Lengths is a histogram of the lengths of some containers.
type Lengths struct {
	Key    uint64 // a hash that identifies the containers; see lengthKeys
	Used   uint64 // Meta.Completed when a length was last recorded
	Counts [LengthBuckets]uint8
}

// Total returns the number of lengths in the history.
func (l *Lengths) Total() (n int) {
	for _, c := range l.Counts {
		n += int(c)
	}
	return n
}

// LengthBucket returns the bucket of a length in milliseconds.
func LengthBucket(millis int64) int {
	v := uint64(max(millis, 0)) / lengthUnit
	if v < 2 {
		return 0
	}
	n := bits.Len64(v)
	return min(2*(n-2)+int(v>>(n-2)&1)+1, LengthBuckets-1)
}

// LengthBounds returns the shortest length in a bucket and the shortest length of the next bucket,
// in milliseconds.
func LengthBounds(bucket int) (from, to int64) { return lengthFrom(bucket), lengthFrom(bucket + 1) }

func lengthFrom(bucket int) int64 {
	if bucket == 0 {
		return 0
	}
	return lengthUnit * int64(2+(bucket-1)%2) << ((bucket - 1) / 2)
}

// LengthsOf returns the narrowest history with enough lengths for an application's containers, or
// nil if there is none yet.
func (s *State) LengthsOf(a *App) (best *Lengths) {
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
	queue := hash64(s.Queues.hashOf(a.Queue))
	user := hash64(queue ^ hashString(s.Names.Text(a.User))) // its number may become that of another user
	return [...]uint64{lengthsOfAll, queue, user, hash64(user ^ a.nameHash)}
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
func (s *State) recordLength(a *App, c *Container) {
	if c.AM || c.GrantedIn == 0 || a.Queue == 0 || c.ExitStatus == yarn.ExitPreempted {
		return
	}
	bucket := LengthBucket(s.Meta.NowMillis - c.AllocatedMillis)
	for _, key := range s.lengthKeys(a) {
		slot := s.Lengths.at(key)
		if slot == 0 {
			slot = s.Lengths.add(key)
		}
		l := s.Lengths.mut(slot)
		l.Used = s.Meta.Completed
		l.count(bucket)
		s.fold(uint64(slot)<<32 | uint64(bucket)<<8 | uint64(l.Counts[bucket]))
	}
}

func (l *Lengths) count(bucket int) {
	if l.Counts[bucket] >= maxLengthCount {
		for i := range l.Counts {
			l.Counts[i] /= 2
		}
	}
	l.Counts[bucket]++
}

// add adds a history and returns its slot.
func (h *Histories) add(key uint64) LengthsSlot {
	first := firstLengths(key)
	oldest := first
	for slot := first; slot < first+lengthWays; slot++ {
		if !h.Has(slot) {
			h.place(slot).Key = key
			return slot
		}
		if h.Get(slot).Used < h.Get(oldest).Used {
			oldest = slot
		}
	}
	*h.mut(oldest) = Lengths{Key: key}
	return oldest
}

func (l *Lengths) code(c *codec.Coder) {
	c.U64(&l.Key)
	c.U64(&l.Used)
	for i := range l.Counts {
		c.U8(&l.Counts[i])
	}
}

var lengthsPart = table(32, "lengths", func(s *State) *Table[LengthsSlot, Lengths] { return &s.Lengths.Table }, (*Lengths).code)

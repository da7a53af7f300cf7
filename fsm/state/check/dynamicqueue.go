package check

import (
	"fmt"
	"slices"

	"rmd/fsm/state/record"
)

// CheckDynamicQueues counts the users of dynamic queues again and checks the order of children.
func (s *Tables) CheckDynamicQueues() error {
	users := make([]int32, s.Queues.Cap())
	s.Users.Each(func(_ record.UserSlot, u *record.User) bool { users[u.Queue]++; return true })
	var newest, set uint64
	var err error
	numbers := map[uint64]bool{} // looked up by key only
	s.DynamicQueues.Each(func(slot record.QueueSlot, d *record.DynamicQueue) bool {
		if !s.Queues.Has(slot) || s.Queues.Get(slot).Parent == 0 {
			err = fmt.Errorf("the dynamic queue at slot %d is not there, or is root", slot)
			return false
		}
		q := s.Queues.Get(slot)
		idle := users[slot] == 0 && len(q.Children) == 0
		switch {
		case d.Users != users[slot] || d.Number == 0 || numbers[d.Number]:
			err = fmt.Errorf("dynamic queue %s, number %d, says %d users; there are %d", q.Path, d.Number, d.Users, users[slot])
		case idle != (d.IdleMillis != 0):
			err = fmt.Errorf("dynamic queue %s is idle since %d; idle: %v", q.Path, d.IdleMillis, idle)
		}
		numbers[d.Number] = true
		newest, set = max(newest, d.Number), set^s.DynamicQueues.HashOf(s.Queues, slot)
		return err == nil
	})
	if err == nil && (newest != s.DynamicQueues.Newest || set != s.DynamicQueues.Hash) {
		err = fmt.Errorf("the newest dynamic queue is %d of set %x, not %d of %x", newest, set, s.DynamicQueues.Newest,
			s.DynamicQueues.Hash)
	}
	s.Queues.Each(func(slot record.QueueSlot, q *record.Queue) bool {
		if err == nil && !slices.IsSortedFunc(q.Children, s.DynamicQueues.CompareChildren) {
			err = fmt.Errorf("dynamic queues below %s are out of order", q.Path)
		}
		return err == nil
	})
	return err
}

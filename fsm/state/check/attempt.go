package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/yarn"
)

// attempts checks the list of an application's ended attempts: newest first, without gaps, and
// consistent with App.Failures.
func (w *listWalk) attempts(slot record.AppSlot, a *record.App) error {
	s, next, failures, met := w.s, a.Attempt, uint32(0), 0
	if a.AttemptState != record.AttemptEnded && next > 0 {
		next--
	}
	whole := next
	err := follow(&w.ended, a.History, func(at record.AttemptSlot) (record.AttemptSlot, bool) {
		h := s.Attempts.Get(at)
		ok := h.App == slot && h.Number == next && next > 0
		next--
		met++
		failures += uint32(count(h.Counted))
		return h.Next, ok
	})
	switch {
	case err != nil:
		return err
	case met > record.MaxHistory || (met < record.MaxHistory && uint32(met) != whole):
		return fmt.Errorf("%s remembers %d of %d ended attempts", a.ID, met, whole)
	case failures > a.Failures || (uint32(met) == whole && failures != a.Failures):
		return fmt.Errorf("%s says %d failures; its attempts sum to %d", a.ID, a.Failures, failures)
	}
	return nil
}

// CheckMasters checks that what App says of its AM is consistent.
func (s *Tables) CheckMasters() error {
	var err error
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		switch {
		case a.MasterNumber == 0 && a.MasterNode != 0, a.MasterNumber > a.NextNumber,
			// NodeForgotten clears MasterNode when the AM has ended; after a takeover the node has not registered yet
			a.MasterNumber != 0 && a.MasterNode == 0 && !s.amGone(a) && !s.Meta.ForeignContainer(a.MasterNumber):
			err = fmt.Errorf("%s has the AM container %d on node %d, its next number is %d", a.ID, a.MasterNumber, a.MasterNode,
				a.NextNumber+1)
		case a.LaunchedMillis != 0 && a.MasterNumber == 0:
			err = fmt.Errorf("%s says that its AM was launched and has none", a.ID)
		case a.Progress > record.WholeProgress:
			err = fmt.Errorf("%s is at %d of %d", a.ID, a.Progress, record.WholeProgress)
		case a.AttemptState == record.AttemptFinishing && (a.Asks != 0 || a.Undelivered != 0 || a.Reservations != 0):
			err = fmt.Errorf("the AM of %s has unregistered, and still has asks, undelivered containers or reservations", a.ID)
		}
		if k := a.Details().ClientKey; k.Algorithm >= yarn.HMACs ||
			len(k.Bytes) > 0 && a.AttemptState != record.AttemptRegistered && a.AttemptState != record.AttemptFinishing {
			err = fmt.Errorf("the key of the clients of %s has %d bytes and algorithm %d; its attempt is in state %d", a.ID,
				len(k.Bytes), k.Algorithm, a.AttemptState)
		}
		return err == nil
	})
	return err
}

// amGone reports whether the AM's container of the current attempt is not live.
func (s *Tables) amGone(a *record.App) bool {
	slot := s.Containers.Find(s.Apps.Find(a.ID.Seq), a.Attempt, a.MasterNumber)
	return slot == 0 || !s.Containers.Get(slot).State.Live()
}

// CheckSecrets checks that the master keys are in order, and that every delegation token is signed
// with a key that is kept.
func (s *Tables) CheckSecrets() error {
	for which := range yarn.KeyKinds {
		k := &s.Meta.Keys[which]
		last := int32(0)
		for _, key := range []record.MasterKey{k.Previous, k.Current, k.Next} {
			switch {
			case (key.ID == 0) != (len(key.Bytes) == 0):
				return fmt.Errorf("the %s key %d has %d bytes", which, key.ID, len(key.Bytes))
			case key.ID == 0 || which == yarn.KeyAMRM && s.Meta.ImportEpoch > 0: // a key of another ResourceManager may have any id
				continue
			case key.ID <= last || key.ID > s.Meta.NextKey || k.Current.ID == 0:
				return fmt.Errorf("the %s keys are %d, %d and %d; the last made is %d", which, k.Previous.ID, k.Current.ID,
					k.Next.ID, s.Meta.NextKey)
			}
			last = key.ID
		}
	}
	var err error
	k := &s.Meta.Keys[yarn.KeyDelegation]
	s.Delegations.Each(func(slot record.DelegationSlot, t *record.DelegationToken) bool {
		switch {
		case t.Sequence == 0 || t.Sequence > s.Meta.NextToken || s.Delegations.At(t.Sequence) != slot:
			err = fmt.Errorf("delegation token %d at slot %d is found at %d; the last is %d", t.Sequence, slot,
				s.Delegations.At(t.Sequence), s.Meta.NextToken)
		case t.KeyID == 0 || (t.KeyID != k.Current.ID && t.KeyID != k.Previous.ID):
			err = fmt.Errorf("delegation token %d is signed with key %d, which is not kept", t.Sequence, t.KeyID)
		case t.ExpiresMillis > t.MaxMillis:
			err = fmt.Errorf("delegation token %d outlives its own end", t.Sequence)
		}
		return err == nil
	})
	return err
}

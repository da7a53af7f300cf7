package state

import (
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(38, "large-containers",
	func(s *State) *table.Table[LargeSlot, LargeContainer] { return &s.LargeContainers.Table }, (*LargeContainer).Code))

// largeStep is how much later another one must be to be recorded, in milliseconds.
const largeStep = 60_000

// recordLarge records that a container of a size was allocated or reserved.
func (s *Accounts) recordLarge(label LabelSlot, size yarn.Resource) {
	last := s.LargeContainers.AllocatedAt(label)
	if last != 0 && s.Meta.NowMillis < last+largeStep || !s.large(label, size) {
		return
	}
	slot := LargeSlot(label) + 1
	if !s.LargeContainers.Has(slot) {
		table.Place(&s.LargeContainers.Table, slot)
	}
	s.LargeContainers.Mut(slot).AtMillis = s.Meta.NowMillis
	s.fold(uint64(slot)<<48 ^ uint64(s.Meta.NowMillis))
}

func (s *Accounts) large(label LabelSlot, size yarn.Resource) bool {
	total, nodes := s.PartitionTotal(label), int64(s.PartitionNodes(label))
	kinds := 1
	if v := s.Versions.Current(); v != nil && v.Dominant {
		kinds = yarn.MaxKinds
	}
	for i, amount := range size[:kinds] {
		further := i != yarn.Memory && i != yarn.VCores
		if amount > 0 && (further || total[i] > 0 && yarn.CompareProducts(2*amount, nodes, total[i], 1) >= 0) {
			return true
		}
	}
	return false
}

package record

import "rmd/yarn"

// The slots of the tables. A name is a host, a rack or a user; each record with its slot counts as a
// reference to it, see name.go.
type (
	AppSlot             uint32
	AskSlot             uint32
	AttemptSlot         uint32
	AuditSlot           uint32
	ContainerSlot       uint32
	DelegationSlot      uint32
	DiagnosticsSlot     uint32
	LabelSlot           uint16
	LabelUseSlot        uint32
	LabelledHostSlot    uint32
	LargeSlot           uint32
	LengthsSlot         uint32
	LocationSlot        uint32
	NameSlot            uint32
	NodeApplicationSlot uint32
	NodeSlot            = yarn.NodeSlot
	QueueSlot           uint32
	RemovalsSlot        uint32
	RequestSlot         uint32
	ReservationBanSlot  uint32
	ReservationSlot     uint32
	ResizeSlot          uint32
	UserSlot            uint32
)

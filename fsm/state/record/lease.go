package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Lease means that a container runs in room that its node's reservation has lent. It ends with the
// container or the reservation, whichever ends first.
type Lease struct {
	Reservation    uint64 // number of the reservation
	DeadlineMillis int64  // latest end of the container; 0: when the room is needed
}

// Leases has the leases of containers, by the slot of the Container.
type Leases struct {
	table.Table[ContainerSlot, Lease]
}

// End removes the lease of a container that ends.
func (t *Leases) End(slot ContainerSlot) {
	if t.Has(slot) {
		table.Release(&t.Table, slot)
	}
}

// From reports whether a container runs in the room of a reservation.
func (t *Leases) From(slot ContainerSlot, reservation uint64) bool {
	return t.Has(slot) && t.Get(slot).Reservation == reservation
}

// declaredLifetime returns the lifetime that an application's tags declare, or 0. It ignores
// malformed tags: the application was submitted before rmd checked them, or to another
// ResourceManager.
func declaredLifetime(tags []string) int64 {
	millis, err := yarn.DeclaredLifetime(tags)
	if err != nil {
		return 0
	}
	return millis
}

// DeclaredLifetime returns the longest lifetime of the application's containers other than its AM,
// as the application has declared it, or 0 if it has not.
func (a *App) DeclaredLifetime() int64 { return a.declaredMillis }

// DeclaredEnd returns the latest end of a container that was allocated at the given time, according
// to the lifetime that the application declared and the application's own lifetime limit. It is 0
// if there is neither.
func (a *App) DeclaredEnd(allocatedMillis int64, am bool) (end int64) {
	if a.declaredMillis > 0 && !am {
		end = allocatedMillis + a.declaredMillis
	}
	if of := a.SubmittedMillis + a.LifetimeMillis; a.LifetimeMillis > 0 && (end == 0 || of < end) {
		end = of
	}
	return end
}

// Code encodes the record, or decodes into it.
func (l *Lease) Code(c *codec.Coder) {
	c.U64(&l.Reservation)
	c.I64(&l.DeadlineMillis)
}

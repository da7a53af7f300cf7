// Package reservation holds the arithmetic of container reservations: how many
// nodes one ask may hold, and which of an application's reservations is given
// up in exchange for an allocation elsewhere.
//
// The life of a reservation (made, counted again, exchanged, moved with its
// application, fulfilled, cancelled) is the scheduler's; its bookkeeping is the
// state's.
package reservation

// Package preemption takes containers from queues that use more than they are entitled to and gives
// their room to queues that use less. Package preempt computes the entitlements. A round decides which
// containers end, in these steps:
//
//	        debt.go        record which leaves wait for their guarantee, and since when
//	judge   standing.go    withdraw warnings that are not needed any more; end a set whose deadline
//	                       has passed, if it still frees enough
//	choose  bypriority.go  for reservations of queues of a higher priority
//	        planned.go     for queues below their entitlement: which ask, which node
//	        balance.go     between queues that have their guarantee
//	        inside.go      between applications of one queue
//
// victims.go collects the containers of each node that may end, and victimset.go finds the cheapest
// set of them.
//
// The batch that warns a container also makes the reservation that gets its room. So no other
// application can take the room. When the reservation ends for another reason, its warnings end
// with it.
//
// With the selector of YARN, a round chooses as YARN's policy does (yarn.go).
package preemption

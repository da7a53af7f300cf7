// Package nemesis has the faults as values. Each has a name, a kind, its requirements of the
// machine, and the way in which it is injected and healed.
//
//	Fault.Inject(ctx, env) → Heal     the fault holds from here …
//	Heal(ctx)                         … to here, and the replica takes part again
//
// A fault chooses its own target: the leader in one of two cases, the newest voter in one of four,
// otherwise any replica. It records its actions in the history, and the outcome of damage. Package
// scenario decides the order of faults. Begin with env.go and all.go.
package nemesis

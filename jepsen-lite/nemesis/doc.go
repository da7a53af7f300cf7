// Package nemesis defines the faults as values. Each has a name, a kind, its requirements of the
// machine, and the way in which it is injected and healed.
//
//	Fault.Inject(ctx, env) → Heal     the fault lasts from here …
//	Heal(ctx)                         … to here, and the replica takes part again
//
// Most faults choose their target with Env.victim: the leader in two of four cases, the newest
// voter in one of four, otherwise any voter. A fault records its actions in the history, and the
// outcome of damage. Package scenario decides the order of faults. Begin with env.go.
package nemesis

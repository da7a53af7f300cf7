// Package nemesis is what breaks the cluster: faults as values, each with a name,
// a kind, what it needs of the machine, and how it is done and undone.
//
//	Fault.Inject(ctx, env) → Heal     the fault holds from here …
//	Heal(ctx)                         … to here, and the replica takes part again
//
// A fault picks its own victim: the leader in one case of two, the newest voter
// in one of four, else anybody. It notes what it did in the history, and what
// became of damage. Which fault comes when is package scenario's to say.
package nemesis

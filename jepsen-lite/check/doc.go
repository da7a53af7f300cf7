// Package check judges a run: it compares a history with every invariant and gives one Verdict.
//
//	replicas' streams ─▶ Streams   S1 S2 S3 S14 S15
//	committed log ────▶ ledger     S5 to S10, S17, S18, S20, L7, the decision audit
//	operations × log ─▶ clients    S4 S5 S6
//	agents × log ─────▶ orders     S11
//	AMs × log ────────▶ masters    S12
//	operations ───────▶ model      S13 (porcupine), sessions and indexes of reads
//	damage ───────────▶ outcomes   S16
//	recovery phase ───▶ liveness   L1 to L5
//
// If the history contains nothing about an invariant, the invariant is skipped with the reason; it
// never passes. A search that took too long is undecided, which fails a run that must be decided.
// The first violation of each invariant comes with the chain of events that led to it.
//
// The package shares no code with rmd, except that package ledger knows the events of the log.
// Begin with judge.go; DESIGN.md says what each check is based on.
package check

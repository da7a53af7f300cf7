// Package check judges a run: it holds a history against every invariant and
// gives one Verdict.
//
//	replicas' streams ─▶ Streams   S1 S2 S3 S14 S15
//	committed log ────▶ ledger     S5 to S10, the decision audit
//	operations × log ─▶ clients    S4 S5 S6
//	agents × log ─────▶ orders     S11
//	AMs × log ────────▶ masters    S12
//	operations ───────▶ model      S13 (porcupine), sessions and indexes of reads
//	damage ───────────▶ outcomes   S16
//	recovery phase ───▶ liveness   L1 to L5
//
// What the history holds nothing of is skipped and says why; it never passes. A
// search that took too long is undecided, which fails a run that must be decided.
// The first violation of each invariant comes with the chain of events that led
// to it.
//
// It shares no code with rmd, except that package replay knows the vocabulary of
// the log.
package check

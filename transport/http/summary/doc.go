// Package summary keeps what lists, counts and sums of the whole state look at, in
// a few words for each application, so that a page about 100,000 of them does not
// read 100,000 records.
//
// A summary belongs to one version of the state and does not change: it may be read
// by many at once, without locks. The next one is made from the last: versions of
// the state share the pages that neither has written to, so that only what lies
// in other pages is counted again. A version that is older than the last works the
// same way, and is as right.
//
//	fork at index N ──▶ Keeper.At ──▶ Summary{apps, tallies by queue, order of nodes}
//	                       ▲
//	                the last Summary, and its fork
//
// A keeper keeps the last summary with its fork alive while somebody asks; package view asks for one of the committed state every few seconds, whether somebody looks
// or not, so that the next one is always made from a summary that is nearly the same.
// Package view and the pages call it; it knows no HTTP.
package summary

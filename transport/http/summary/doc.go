// Package summary keeps the counts, sums and orders of the whole state that lists show, in a few
// words per application. With it, a page about 100,000 applications need not read 100,000 records.
//
// A summary belongs to one version of the state and does not change: many goroutines may read it
// without locks. Each summary is made from the last one. Versions of the state share the pages to
// which neither has written, so only the applications in other pages are counted again. This also
// works for a version that is older than the last one.
//
//	fork at index N ──▶ Keeper.At ──▶ Summary{apps, tallies by queue, order of nodes, rooms by label}
//	                       ▲
//	                the last Summary, and its fork
//
// A keeper keeps the last summary and its fork as long as it is used. Package view asks for a
// summary of the committed state every few seconds, also without viewers, so the next summary is
// always made from a similar one. Package view and the pages call this package; it knows no HTTP.
package summary

// Package forecast estimates when waiting containers will start. It runs the planner in virtual
// time, on forks of the state, in which running containers end after lengths drawn from past
// containers:
//
//	state ──fork──▶ planner ◀── ends of containers, from a heap in virtual time
//	                   └──▶ starts, and the end that each start has waited for
//
// Lengths are drawn with a seed from the history in the state, so equal states and options give
// equal forecasts. A Record compares forecasts with what happened and measures their errors. The
// interval of a forecast comes from this record.
//
// A forecast does not know later submissions and asks, nodes that will be lost, and the asks of an
// AM that has not started. docs/design/forecast.md has the design.
package forecast

// Package forecast says when waiting containers will start. It continues the planner in virtual
// time, on forks of a state in which containers end as containers like them have ended so far:
//
//	state ──fork──▶ planner ◀── ends of containers, from a heap in virtual time
//	                   └──▶ starts, and the end that each start has waited for
//
// Lengths are drawn from the history in the state, with a seed: equal states and options give equal
// forecasts. A Record compares forecasts with what happened and measures their errors. The interval
// of a forecast comes from this record.
//
// A forecast does not know later submissions and asks, nodes that will be lost, and the asks of an
// AM that has not started. docs/design/forecast.md has the design.
package forecast

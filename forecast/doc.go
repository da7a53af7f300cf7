// Package forecast says when what waits will start. It lets the planner go on, in virtual time, on
// forks of a state whose containers end when containers like them have ended so far:
//
//	state ──fork──▶ planner ◀── ends of containers, from a heap in virtual time
//	                   └──▶ starts, and the end that each start has waited for
//
// Lengths are drawn from the history in the state, with a seed: equal states and options give equal
// forecasts. A Record compares forecasts with what happened and says how far off they were; the
// interval of a forecast comes from there.
//
// A forecast does not know what will be submitted or asked for later, which nodes will be lost, and
// what an AM that has not started will ask for.
package forecast

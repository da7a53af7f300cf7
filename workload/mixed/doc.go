// Package mixed generates the built-in workload of a development cluster: an endless, seeded row of applications in
// the sizes of a published GPU cluster. Most containers are small; a few need half a node or all of it, so that on a
// cluster that is by no means full they find no node with enough room, and reservations are made, fulfilled and
// cancelled while one looks on.
//
// The small demands follow the quantiles of 8,152 production tasks (memory, cores and GPUs of one task rise together;
// for one in six no GPU). The large ones take 4, 6 or 8 of a node's 8 GPUs. Run times are those of a demonstration:
// 2 to 20 s for small, 5 to 30 s for large containers, times Config.TimeScale.
//
// Two independent streams, small and large, offer Config.Load of the cluster's GPU time between them, half each. The
// first seconds are an opening: small containers on three quarters of the GPUs, then large ones that must wait for them.
//
// The same Config gives the same jobs on every machine. Nothing here knows a clock: Submit is a time since the start.
// The package imports the trace model and the standard library only.
package mixed

// Package mixed generates the built-in workload of a development cluster: an endless sequence of
// applications from a seed, with the container sizes of a published GPU cluster. Most containers
// are small. A few need half a node or a whole node. Such a container often finds no node with
// enough room although the cluster is not full, so the scheduler makes, fulfills and cancels
// reservations.
//
// The sizes of small containers follow the quantiles of 8,152 production tasks. Memory, cores and
// GPUs of one task grow together; one in six tasks has no GPU. Large containers take 4, 6 or 8 of a
// node's 8 GPUs. Run times are those of a demonstration: 2 to 20 s for small and 5 to 30 s for
// large containers, times Config.TimeScale.
//
// Two independent streams, small and large, each request half of Config.Load of the cluster's GPU
// time. The first seconds are an opening: small containers on three quarters of the GPUs, then
// large ones that must wait for them.
//
// Equal Configs give equal jobs on every machine. The package uses no clock: Submit is a time since
// the start. The package imports only the trace model and the standard library.
package mixed

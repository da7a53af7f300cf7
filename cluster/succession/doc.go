// Package succession finds out that the leader's process has ended, and has a survivor start an
// election at once instead of after its timers.
//
// Each replica keeps a liveness connection to every other one and sends its PeerStatus on it. The
// peer transport proves that a process is dead: the kernel closed an established connection, and a
// new one is refused or answered by another process. The survivors then tell each other where their
// logs end, and the voter with the longest log campaigns first.
//
// Safety is Raft's own: these are ordinary elections, only their start differs. A live leader is
// not deposed because a connection was lost, and not while another voter says that it still hears
// this leader.
package succession

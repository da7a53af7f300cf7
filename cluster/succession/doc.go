// Package succession detects that the leader's process has ended, and makes a survivor start an
// election at once instead of after its timers.
//
// Each replica keeps a liveness connection to every other replica and sends its PeerStatus on it.
// The peer transport proves that a process is dead: the kernel closed an established connection,
// and a new one is refused or answered by another process. Then the survivors tell each other where
// their logs end, and the voter with the longest log campaigns first.
//
// Safety is Raft's own: these are ordinary elections, and only their start differs. A lost
// connection alone does not depose a live leader. A proof does not depose it either while another
// voter reports that it still hears this leader.
//
// cluster/DESIGN.md, "Succession", describes the steps.
package succession

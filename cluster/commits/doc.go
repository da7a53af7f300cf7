// Package commits tells followers at once what is committed. Sender is the leader's side, Receiver the
// follower's.
package commits

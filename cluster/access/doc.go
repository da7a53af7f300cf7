// Package access decides which replicas may connect to this one, call it, and take part in Raft, and
// which entries it stores. It decides by the membership, and by signed admissions while the membership
// here is behind.
package access

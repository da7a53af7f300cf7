package rafttransport

import (
	"errors"
	"strings"
)

// isNotMember reports whether another replica refused this one because it is not a member.
func isNotMember(err error) bool {
	return err != nil && strings.Contains(err.Error(), CodeNotMember)
}

// ErrNotMember is the answer to a Raft request whose sender is not a member.
var ErrNotMember = errors.New(CodeNotMember + ": the sender is not in the membership that this replica knows")

// CodeNotMember is part of the text of ErrNotMember, and the code of a refused hello. It is part of
// the protocol between replicas.
const CodeNotMember = "NOT_MEMBER"

package rafttransport

import (
	"errors"
	"strings"
)

// isNotMember says that the other replica does not know this one as a member.
func isNotMember(err error) bool {
	return err != nil && strings.Contains(err.Error(), CodeNotMember)
}

// ErrNotMember is the answer to a request of Raft's whose sender is no member.
var ErrNotMember = errors.New(CodeNotMember + ": the sender is not in the membership that this replica knows")

// CodeNotMember is in the text of ErrNotMember, and is what the hello of a connection says. It is
// part of the wire.
const CodeNotMember = "NOT_MEMBER"

package yarn

import "fmt"

// Role is what a person or a program may do at rmd's own API. A
// higher one may do all that a lower one may.
type Role uint8

// Roles, by what they may do.
const (
	RoleNone     Role = iota
	RoleRead          // look
	RoleSubmit        // own applications
	RoleOperator      // all applications, nodes, queues and their configuration
	RoleAdmin         // replicas, backups, settings of the cluster, and access itself

	roles
)

// Roles lists what a token or a certificate may carry.
func Roles() []Role { return []Role{RoleRead, RoleSubmit, RoleOperator, RoleAdmin} }

// Valid says whether it is one of Roles.
func (r Role) Valid() bool { return r > RoleNone && r < roles }

// String is the name as commands and documents have it.
func (r Role) String() string { return name(uint8(r), "none", "read", "submit", "operator", "admin") }

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ParseRole reads one of Roles.
func ParseRole(text string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == text {
			return r, nil
		}
	}
	return RoleNone, fmt.Errorf("%q is not a role: read, submit, operator or admin", text)
}

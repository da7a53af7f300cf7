package yarn

import "fmt"

// Role is what a person or a program may do in rmd's own API. A higher role includes all lower
// ones.
type Role uint8

// The roles, from lowest to highest.
const (
	RoleNone     Role = iota
	RoleRead          // may read
	RoleSubmit        // may also submit and manage its own applications
	RoleOperator      // may also manage all applications, nodes, queues and their configuration
	RoleAdmin         // may also manage replicas, backups, settings of the cluster, and access

	roles
)

// Roles returns the roles that a token or a certificate can have.
func Roles() []Role { return []Role{RoleRead, RoleSubmit, RoleOperator, RoleAdmin} }

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return r > RoleNone && r < roles }

// String returns the name of the role in commands and documents.
func (r Role) String() string { return name(uint8(r), "none", "read", "submit", "operator", "admin") }

// MarshalText returns the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ParseRole parses the name of one of Roles.
func ParseRole(text string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == text {
			return r, nil
		}
	}
	return RoleNone, fmt.Errorf("%q is not a role: read, submit, operator or admin", text)
}

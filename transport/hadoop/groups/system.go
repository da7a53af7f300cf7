package groups

import (
	"context"
	"errors"
	"os/user"
	"slices"
	"strings"
)

// system asks the operating system, which is Hadoop's default.
type system struct{}

// Groups implements Provider.
func (system) Groups(_ context.Context, name string) ([]string, error) {
	if strings.ContainsRune(name, 0) {
		return nil, nil // the system would look up the part before the NUL
	}
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		ids = []string{u.Gid}
	}
	var out []string
	for _, id := range ids {
		g, err := user.LookupGroupId(id)
		if err != nil || slices.Contains(out, g.Name) {
			continue
		}
		if id == u.Gid {
			out = append([]string{g.Name}, out...)
		} else {
			out = append(out, g.Name)
		}
	}
	return out, nil
}

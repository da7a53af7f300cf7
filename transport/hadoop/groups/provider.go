package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
)

// Provider finds the groups of a user, the primary group first. An unknown user has none.
type Provider interface {
	Groups(ctx context.Context, user string) ([]string, error)
}

// Key is the key with the class of the provider.
const Key = "hadoop.security.group.mapping"

// keys returns the trimmed value of a key, or "" if it is not set.
type keys func(name string) string

// Open creates the provider that a configuration names. An unknown class gives the provider of the
// operating system.
func Open(conf *hadoopconf.Config, log hclog.Logger) (Provider, error) {
	return open(func(name string) string { return strings.TrimSpace(conf.Value(name, "")) }, log, true)
}

func open(get keys, log hclog.Logger, outermost bool) (Provider, error) {
	class := get(Key)
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "", "JniBasedUnixGroupsMapping", "JniBasedUnixGroupsMappingWithFallback", "ShellBasedUnixGroupsMapping":
		return system{}, nil
	case "NullGroupsMapping":
		return noGroups{}, nil
	case "LdapGroupsMapping":
		return newLDAP(get, log)
	case "RuleBasedLdapGroupsMapping":
		return newRuleBased(get, log)
	case "CompositeGroupsMapping":
		if outermost {
			return newComposite(get, log)
		}
		return nil, fmt.Errorf("%s: a provider of CompositeGroupsMapping may not be one itself", Key)
	}
	log.Warn("the provider of groups is not known: the operating system's groups count", "class", class)
	return system{}, nil
}

type noGroups struct{}

func (noGroups) Groups(context.Context, string) ([]string, error) { return nil, nil }

// composite asks several providers (CompositeGroupsMapping).
type composite struct {
	providers []Provider
	combined  bool // combine the groups of all providers; otherwise use the first provider that knows groups
}

func newComposite(get keys, log hclog.Logger) (*composite, error) {
	c := &composite{combined: !strings.EqualFold(get(Key+".providers.combined"), "false")}
	for _, name := range hadoopconf.List(get(Key + ".providers")) {
		key := Key + ".provider." + name
		if get(key) == "" {
			return nil, fmt.Errorf("%s: provider %q has no class; set %s", Key+".providers", name, key)
		}
		p, err := open(func(k string) string {
			if k == Key {
				return get(key)
			}
			return get(key + strings.TrimPrefix(k, Key))
		}, log.Named(name), false)
		if err != nil {
			return nil, fmt.Errorf("provider %q: %w", name, err)
		}
		c.providers = append(c.providers, p)
	}
	if len(c.providers) == 0 {
		return nil, fmt.Errorf("%s: there are no providers", Key+".providers")
	}
	return c, nil
}

// Groups implements Provider. It returns an error only if no provider knows groups.
func (c *composite) Groups(ctx context.Context, user string) ([]string, error) {
	var out []string
	var errs []error
	for _, p := range c.providers {
		groups, err := p.Groups(ctx, user)
		errs = append(errs, err)
		for _, g := range groups {
			if !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		if len(out) > 0 && !c.combined {
			break
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	return nil, errors.Join(errs...)
}

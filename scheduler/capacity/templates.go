package capacity

import (
	"slices"
	"strings"

	"rmd/scheduler/capacity/property"
)

// Templates are the keys that dynamic children of a parent have, unless the configuration sets them
// for a child. The names do not include the path of the queue.
type Templates struct {
	All, Leaf, Parent []Property // sorted by name
}

// isTemplate reports whether a key belongs to a template. Its queue need not exist.
func isTemplate(p Property) bool {
	for _, k := range []string{allTemplate, leafTemplate, parentTemplate} {
		if strings.Contains(p.Name, "."+k) {
			return true
		}
	}
	return false
}

// readTemplates collects the templates of a parent: those for its own path, then those for paths
// with wildcards in place of the last parts, at most depth of them. The first template that sets a
// key wins.
//
// Source: Hadoop 3.4.2, AutoCreatedQueueTemplate.setTemplateConfigEntries.
func (r *reader) readTemplates(c *Config, q *Queue, depth int64) (t Templates) {
	if !r.templates {
		return t
	}
	parts := strings.Split(q.Path, ".")
	for level := range min(len(parts)-1, int(depth)) + 1 {
		if level > 0 {
			parts[len(parts)-level] = anyQueue
		}
		prefix := Prefix + strings.Join(parts, ".") + "."
		for _, k := range []struct {
			name string
			to   *[]Property
		}{{allTemplate, &t.All}, {leafTemplate, &t.Leaf}, {parentTemplate, &t.Parent}} {
			for _, p := range r.under(c, prefix+k.name) {
				p.Origin = prefix + k.name + p.Name
				r.seen[p.Origin] = true
				property.AddMissing(k.to, p)
			}
		}
	}
	return t
}

// under returns the properties whose names begin with a prefix, without that prefix: those of the
// configuration, and those that the queue being read has from templates.
func (r *reader) under(c *Config, prefix string) []Property {
	var out []Property
	for _, list := range [][]Property{c.properties, r.overlay} {
		for _, p := range property.Below(list, prefix) {
			p.Name = p.Name[len(prefix):]
			property.AddMissing(&out, p)
		}
	}
	return out
}

// Settings returns the keys that a dynamic queue has from the templates of its parent and from
// YARN's defaults for dynamic queues, without those that the configuration sets for it. Below a
// managed parent these are all keys of the leaf template, which override the configuration. The
// names are full, and sorted.
func (c *Config) Settings(parent *Queue, path string, leaf bool) []Property {
	var out []Property
	own := property.Below(c.properties, Prefix+path+".")
	add := func(list []Property) {
		for _, p := range list {
			p.Name = Prefix + path + "." + p.Name
			if _, stated := property.Find(own, p.Name); !stated {
				property.AddMissing(&out, p)
			}
		}
	}
	if parent.AutoCreate.By == Legacy {
		return parent.AutoCreate.managedSettings(path)
	}
	t := &parent.AutoCreate.Templates
	if leaf {
		add(t.Leaf)
	} else {
		add(t.Parent)
	}
	add(t.All)
	add([]Property{{Name: "capacity", Value: "1w"}})
	if leaf {
		add([]Property{{Name: "maximum-am-resource-percent", Value: "1"}, {Name: "user-limit-factor", Value: "-1"}})
	}
	return out
}

// checkTemplates reads a trial leaf and a trial parent below each queue that creates queues. This
// finds faults in templates before the first queue is created.
func (r *reader) checkTemplates(c *Config) {
	for i := range c.Queues {
		q := &c.Queues[i]
		switch q.ChildrenBy() {
		case Static:
			continue
		case Legacy:
			r.checkManaged(c, i)
			continue
		}
		path := q.Path + "." + anyQueue
		for _, leaf := range []bool{true, false} {
			like := c.newDynamic(i, path, leaf)
			r.readDynamic(c, &like)
		}
		t := &q.AutoCreate.Templates
		for _, p := range slices.Concat(t.All, t.Leaf, t.Parent) {
			if !r.seen[Prefix+path+"."+p.Name] {
				r.keys.warnUnknown(p.Origin, p.Name, queueKeys, strings.TrimSuffix(p.Origin, p.Name))
			}
		}
	}
}

package capacity

import (
	"fmt"
	"slices"
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/property"
	"rmd/scheduler/capacity/unhonored"
	"rmd/yarn"
)

// classifier reports the keys that nothing reads.
type classifier struct {
	*values
	strays int // number of warnings of warnStray
}

// classify reports each key that no other function has read: as a known key of Hadoop without
// effect, or as unknown. Hadoop ignores unknown keys silently.
func (r *classifier) classify(c *Config) {
	for _, p := range c.properties {
		if r.seen[p.Name] {
			continue
		}
		rest, ours := strings.CutPrefix(p.Name, Prefix)
		switch {
		case !ours && strings.HasPrefix(p.Name, resourceTypes+"."):
			r.warnUnknown(p.Name, p.Name, nil, "")
		case !ours && strings.HasPrefix(p.Name, preemptionPrefix):
			r.warnUnknown(p.Name, strings.TrimPrefix(p.Name, preemptionPrefix), preemptionKeys, preemptionPrefix)
		case !ours:
			r.ignoreUnless(p.Name, p.Name, unhonored.Site)
		case rest == "root" || strings.HasPrefix(rest, "root."):
			r.classifyQueueKey(c, p.Name, rest)
		default:
			if !r.ignoreUnless(p.Name, rest, unhonored.Cluster) {
				r.warnUnknown(p.Name, rest, globalKeys, Prefix)
			}
		}
	}
}

// ignoreUnless reports whether table has the key. If the value is not the default, it adds a note
// that the key has no effect.
func (r *classifier) ignoreUnless(name, key string, table []unhonored.Key) bool {
	u, ok := unhonored.Find(table, key)
	if v := strings.TrimSpace(r.written[name].Value); ok && v != "" && v != u.Value {
		r.ignore(name, u.Why, u.Effect)
	}
	return ok
}

func (r *classifier) classifyQueueKey(c *Config, name, rest string) {
	path := longestQueue(c, rest)
	key := strings.TrimPrefix(strings.TrimPrefix(rest, path), ".")
	if path == "" || key == "" {
		r.warnUnknown(name, rest, nil, "")
		return
	}
	if user, ok := strings.CutPrefix(key, "user-settings."); ok {
		user, _, _ = strings.Cut(user, ".")
		r.warnMeant(name, Prefix+path+".user-settings."+user+".weight")
		return
	}
	if r.ignoreUnless(name, key, unhonored.Queue) || isTemplate(Property{Name: name}) {
		return
	}
	if a := c.Queues[c.byPath[path]].AutoCreate; a != nil && a.By != Static && strings.Contains(key, ".") &&
		!strings.HasPrefix(key, flexible) && !strings.HasPrefix(key, managed) {
		return // the key may be of a queue that is created later
	}
	if child, below, _ := strings.Cut(key, "."); knownBelow(below) {
		r.warn(name, fmt.Sprintf("queue %s.%s does not exist", path, child),
			fmt.Sprintf("add %q to %s%s.queues, or remove the key", child, Prefix, path))
		r.warnings[len(r.warnings)-1].NoQueue = path + "." + child
		return
	}
	r.warnUnknown(name, key, queueKeys, Prefix+path+".")
}

// knownBelow reports whether key is a key of queues, with or without the names of child queues
// before it.
func knownBelow(key string) bool {
	for key != "" {
		if _, ok := slices.BinarySearch(queueKeys, key); ok {
			return true
		}
		if _, ok := unhonored.Find(unhonored.Queue, key); ok || strings.HasPrefix(key, "user-settings.") {
			return true
		}
		_, key, _ = strings.Cut(key, ".")
	}
	return false
}

// longestQueue returns the longest path of a queue that key starts with, or "".
func longestQueue(c *Config, key string) string {
	for p := key; p != ""; p = yarn.ParentQueue(p) {
		if _, ok := c.byPath[p]; ok {
			return p
		}
	}
	return ""
}

// otherParts are the prefixes of keys of other parts of Hadoop, which may be in the same files.
var otherParts = []string{"yarn.", "hadoop.", "fs.", "dfs.", "ha.", "io.", "ipc.", "mapred.", "mapreduce.", "net.",
	"nfs.", "rpc.", "security.", "tfile.", "zk-", "file.", "ftp.", "s3", "seq."}

// maxStray is the most warnings of warnStray, because a wrong file has many such keys.
const maxStray = 100

// warnStray warns about a key that has no effect because its prefix is not that of the queue
// configuration. It ignores keys of other parts of Hadoop.
func (r *classifier) warnStray(p Property) {
	name := p.Name
	ours := strings.HasPrefix(name, "yarn.scheduler.") && !strings.HasPrefix(name, "yarn.scheduler.configuration.") ||
		strings.Contains(name, "capacity.root.")
	other := func(part string) bool { return strings.HasPrefix(name, part) }
	if !ours && slices.ContainsFunc(otherParts, other) || r.seen[name] || r.strays >= maxStray {
		return
	}
	r.seen[name] = true
	r.strays++
	f := Fault{Name: clip.Text(name), Value: clip.Text(p.Value), Origin: p.Origin, What: "unknown key: it is passed over",
		Do: "remove it; keys of queues begin with " + Prefix}
	if f.Meant = Meant(name); f.Meant != "" {
		f.Do = fmt.Sprintf("did you mean %q?", f.Meant)
	}
	r.warnings = append(r.warnings, f)
}

// Meant returns the key that a name without the prefix of the queue configuration resembles, or "".
func Meant(name string) string {
	if at := strings.Index(name, "root."); at >= 0 && (at == 0 || name[at-1] == '.') {
		return Prefix + name[at:]
	}
	if _, ok := slices.BinarySearch(globalKeys, name); ok {
		return Prefix + name
	}
	return property.Nearest(name, siteKeys)
}

// warnUnknown warns about an unknown key and suggests the most similar candidate.
func (r *classifier) warnUnknown(name, key string, candidates []string, prefix string) {
	if near := property.Nearest(key, candidates); near != "" {
		r.warnMeant(name, prefix+near)
		return
	}
	r.warn(name, "unknown key", "remove it; it has no effect")
}

// warnMeant warns about an unknown key that resembles a known one.
func (r *classifier) warnMeant(name, meant string) {
	r.warn(name, "unknown key", fmt.Sprintf("did you mean %q?", meant))
	r.warnings[len(r.warnings)-1].Meant = meant
}

package ui

import (
	"strings"
)

type aboutData struct {
	About
	Here    Status
	Cluster string // the cluster's id
	Find    string
	All     int // settings before the filter
	Level   uint32
}

func about(q *query) (any, error) {
	d := aboutData{About: q.u.cfg.About(), Here: q.u.cfg.Status(), Cluster: q.v.State.Meta.ClusterID,
		Find: strings.TrimSpace(q.q.Get("find")), Level: q.v.State.Meta.Level}
	d.All = len(d.Own) + len(d.Settings)
	d.Own, d.Settings = matching(d.Own, d.Find), matching(d.Settings, d.Find)
	return d, nil
}

// matching returns the settings that contain a text.
func matching(list []Setting, find string) []Setting {
	if find == "" {
		return list
	}
	find = strings.ToLower(find)
	var out []Setting
	for _, s := range list {
		if strings.Contains(strings.ToLower(s.Name+" "+s.Value+" "+s.Origin+" "+s.About), find) {
			out = append(out, s)
		}
	}
	return out
}

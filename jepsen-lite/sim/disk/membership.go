package disk

import "github.com/hashicorp/raft"

// Configurations returns the newest membership on a disk and the one before it.
func (d *Disk) Configurations() (now, before raft.Configuration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for i := d.seen.last; i >= d.seen.first && i > 0 && n < 2; i-- {
		l := d.seen.logs[i]
		if l == nil || l.Type != raft.LogConfiguration {
			continue
		}
		if n++; n == 1 {
			now = configurationOf(l)
		} else {
			before = configurationOf(l)
		}
	}
	if k := len(d.seen.snaps); n < 2 && k > 0 {
		if c := d.seen.snaps[k-1].meta.Configuration; n == 0 {
			now = c
		} else {
			before = c
		}
	}
	return now, before
}

// configurationOf decodes a stored entry. The guard adds a head of 22 bytes and a checksum of 4.
func configurationOf(l *raft.Log) raft.Configuration {
	const head, tail = 22, 4
	if len(l.Data) < head+tail {
		return raft.Configuration{}
	}
	return raft.DecodeConfiguration(l.Data[head : len(l.Data)-tail])
}

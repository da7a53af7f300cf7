package leading

import "rmd/cluster/identity"

// WatchPeers keeps liveness connections to all other members.
func (l *Watch) WatchPeers() {
	if l.Peer == nil || l.Context.Err() != nil {
		return
	}
	peers := map[string]string{}
	for _, s := range l.Configuration().Servers {
		if id, _ := identity.Split(s.ID); id != l.Config.ID {
			peers[id] = string(s.Address)
		}
	}
	l.Peer.Watch(peers, func() []byte { return l.Succession.Status().Encode() }, l.Succession.ProcessDead)
}

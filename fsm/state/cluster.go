package state

import (
	"bytes"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
)

var _ = applies(func(s *State, e *event.TimeAdvanced) error { return s.Meta.timeAdvanced(e) })

func (m *Meta) timeAdvanced(e *event.TimeAdvanced) error {
	if e.NowMillis < m.NowMillis {
		return broken(e, "the clock stands at %d", m.NowMillis)
	}
	m.NowMillis = e.NowMillis
	m.fold(uint64(e.NowMillis))
	return nil
}

var _ = applies(func(s *State, e *event.ClusterInitialized) error { return s.Meta.clusterInitialized(e) })

func (m *Meta) clusterInitialized(e *event.ClusterInitialized) error {
	if m.ClusterID != "" || e.ClusterID == "" {
		return broken(e, "the cluster is %q already", m.ClusterID)
	}
	m.ClusterID = e.ClusterID
	m.ClusterTimestamp = e.ClusterTimestamp
	m.Level = e.Level
	m.fold(table.Hash(e.ClusterID))
	m.fold(uint64(e.ClusterTimestamp))
	m.fold(uint64(e.Level))
	return nil
}

var _ = applies(func(s *State, e *event.LevelRaised) error { return s.Meta.levelRaised(e) })

func (m *Meta) levelRaised(e *event.LevelRaised) error {
	if e.Level <= m.Level {
		return broken(e, "the level is %d already", m.Level)
	}
	m.Level = e.Level
	m.fold(uint64(e.Level))
	return nil
}

var _ = applies((*State).epochRaised)

func (s *Running) epochRaised(e *event.EpochRaised) error {
	if e.Epoch <= s.Meta.Epoch {
		return broken(e, "the epoch is %d already", s.Meta.Epoch)
	}
	s.Meta.Epoch = e.Epoch
	s.Meta.ClusterTimestamp = e.ClusterTimestamp
	s.Meta.skipSecrets(e.Epoch)
	s.fold(uint64(e.Epoch))
	s.fold(uint64(e.ClusterTimestamp))
	s.renumberReservations()
	return nil
}

// JoinTokens are the tokens with which replicas join. A changed list is a new list.
type JoinTokens []JoinToken

// Find returns the token with the given hash.
func (j *JoinTokens) Find(hash []byte) (JoinToken, bool) {
	for _, t := range *j {
		if bytes.Equal(t.Hash, hash) {
			return t, true
		}
	}
	return JoinToken{}, false
}

var _ = applies(func(s *State, e *event.JoinTokenCreated) error { return s.JoinTokens.created(&s.Meta, e) })

func (j *JoinTokens) created(m *Meta, e *event.JoinTokenCreated) error {
	if _, ok := j.Find(e.Hash); ok {
		return broken(e, "there is such a token")
	}
	t := JoinToken{Hash: e.Hash, Voter: e.Voter, ExpiresMillis: e.ExpiresMillis, CreatedBy: e.CreatedBy}
	*j = append(append(JoinTokens(nil), *j...), t)
	m.fold(table.Hash(string(e.Hash)))
	return nil
}

var _ = applies(func(s *State, e *event.JoinTokenUsed) error { return s.JoinTokens.used(&s.Meta, e) })

func (j *JoinTokens) used(m *Meta, e *event.JoinTokenUsed) error {
	tokens := append(JoinTokens(nil), *j...)
	for i := range tokens {
		if bytes.Equal(tokens[i].Hash, e.Hash) && tokens[i].UsedBy == "" {
			tokens[i].UsedBy = e.By
			*j = tokens
			m.fold(uint64(i))
			return nil
		}
	}
	return broken(e, "no unused token has this hash")
}

var _ = applies(func(s *State, e *event.JoinTokensExpired) error { return s.JoinTokens.expired(&s.Meta, e) })

func (j *JoinTokens) expired(m *Meta, _ *event.JoinTokensExpired) error {
	var keep JoinTokens
	for _, t := range *j {
		if t.ExpiresMillis > m.NowMillis {
			keep = append(keep, t)
		}
	}
	*j = keep
	m.fold(uint64(len(keep)))
	return nil
}

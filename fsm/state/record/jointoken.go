package record

import (
	"bytes"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// TimeAdvanced applies a new time of the log's clock.
func (m *Meta) TimeAdvanced(e *event.TimeAdvanced) error {
	if e.NowMillis < m.NowMillis {
		return Broken(e, "the clock stands at %d", m.NowMillis)
	}
	m.NowMillis = e.NowMillis
	m.Fold(uint64(e.NowMillis))
	return nil
}

// ClusterInitialized applies the birth of the cluster.
func (m *Meta) ClusterInitialized(e *event.ClusterInitialized) error {
	if m.ClusterID != "" || e.ClusterID == "" {
		return Broken(e, "the cluster is %q already", m.ClusterID)
	}
	m.ClusterID = e.ClusterID
	m.ClusterTimestamp = e.ClusterTimestamp
	m.Level = e.Level
	m.Fold(table.Hash(e.ClusterID))
	m.Fold(uint64(e.ClusterTimestamp))
	m.Fold(uint64(e.Level))
	return nil
}

// LevelRaised applies a higher feature level.
func (m *Meta) LevelRaised(e *event.LevelRaised) error {
	if e.Level <= m.Level {
		return Broken(e, "the level is %d already", m.Level)
	}
	m.Level = e.Level
	m.Fold(uint64(e.Level))
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

// Created applies the creation of a token.
func (j *JoinTokens) Created(m *Meta, e *event.JoinTokenCreated) error {
	if _, ok := j.Find(e.Hash); ok {
		return Broken(e, "there is such a token")
	}
	t := JoinToken{Hash: e.Hash, Voter: e.Voter, ExpiresMillis: e.ExpiresMillis, CreatedBy: e.CreatedBy}
	*j = append(append(JoinTokens(nil), *j...), t)
	m.Fold(table.Hash(string(e.Hash)))
	return nil
}

// Used applies the use of a token.
func (j *JoinTokens) Used(m *Meta, e *event.JoinTokenUsed) error {
	tokens := append(JoinTokens(nil), *j...)
	for i := range tokens {
		if bytes.Equal(tokens[i].Hash, e.Hash) && tokens[i].UsedBy == "" {
			tokens[i].UsedBy = e.By
			*j = tokens
			m.Fold(uint64(i))
			return nil
		}
	}
	return Broken(e, "no unused token has this hash")
}

// Expired removes the tokens that have expired.
func (j *JoinTokens) Expired(m *Meta, _ *event.JoinTokensExpired) error {
	var keep JoinTokens
	for _, t := range *j {
		if t.ExpiresMillis > m.NowMillis {
			keep = append(keep, t)
		}
	}
	*j = keep
	m.Fold(uint64(len(keep)))
	return nil
}

// Code encodes the record, or decodes into it.
func (j *JoinTokens) Code(c *codec.Coder) {
	codec.List(c, (*[]JoinToken)(j), func(c *codec.Coder, t *JoinToken) {
		c.Raw(&t.Hash)
		c.Bool(&t.Voter)
		c.I64(&t.ExpiresMillis)
		c.String(&t.CreatedBy)
		c.String(&t.UsedBy)
	})
}

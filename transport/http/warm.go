package httpserver

import "time"

// keepWarm brings what lists and explanations are made from up to the state now
// and then while nobody looks: made from nothing, it takes a large cluster's first
// viewer a fifth of a second. What has not changed costs nothing.
func (s *Server) keepWarm() {
	tick := time.NewTicker(s.cfg.WarmPause)
	defer tick.Stop()
	for {
		s.warm()
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// warm takes a version of the state to where pages look first.
func (s *Server) warm() {
	st, index := s.cfg.Reader.Fork()
	s.census.At(st, index)
	s.confs.of(st)
	if s.cfg.Warm != nil && st.Version() != nil {
		s.cfg.Warm(st)
	}
}

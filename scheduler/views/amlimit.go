package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity/limits"
	"rmd/yarn"
)

// AMLimit returns how much the AMs of a leaf may use now.
func (v *View) AMLimit(i int32) yarn.Resource {
	usable := v.At.Tree.Capacities[i].EffMin
	if v.At.Label == 0 { // for a label, YARN uses only the guarantee
		usable = limits.AMUsable(v.Config.Calculator, v.CurrentLimit(i), usable)
	}
	return limits.AMLimit(v.Config.Calculator, usable, v.At.Config.Queues[i].MaxAMPercent, v.Config.MinAlloc)
}

// UserAMLimit returns how much the AMs of one user of a leaf may use now.
func (v *View) UserAMLimit(i int32, user state.UserSlot) yarn.Resource {
	return v.UserAMLimitAmong(i, user, v.AMLimit(i), v.UsersOf(i))
}

func (v *View) UserAMLimitAmong(i int32, user state.UserSlot, queueLimit yarn.Resource, users int64) yarn.Resource {
	q := &v.At.Config.Queues[i]
	return limits.UserAMLimit(limits.UserAMLimitInput{
		Calculator: v.Config.Calculator, Total: v.State.Meta.Cluster, EffMin: v.At.Tree.Capacities[i].EffMin,
		AMLimit: queueLimit, MinAlloc: v.Config.MinAlloc, AMPercent: q.MaxAMPercent,
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		Weight: v.Users[user].Weight, ActiveUsers: users,
	})
}

// UsersOf returns the number of users among whom the AM limit of a leaf is divided.
func (s *Views) UsersOf(i int32) int64 {
	leaf := s.Queue(i)
	return int64(leaf.ActiveUsers + leaf.WaitingUsers)
}

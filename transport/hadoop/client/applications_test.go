package client

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func (h *fixture) list(t testing.TB, user string, req *proto.GetApplicationsRequestProto) []string {
	t.Helper()
	r, err := h.svc.applications(context.Background(), as(user), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range r.GetApplications() {
		out = append(out, fmt.Sprint(a.GetApplicationId().GetId()))
	}
	return out
}

// crowd returns a fixture with applications of two users in several states and queues.
func crowd(t testing.TB) *fixture {
	h := closed(t)
	node := h.node(t, "node1")
	kinds := []string{"MAPREDUCE", "spark", "YARN"}
	for i := range 18 {
		id := h.app(t, []string{"ann", "bob"}[i%2], func(s *proto.ApplicationSubmissionContextProto) {
			s.ApplicationName, s.ApplicationType = new(fmt.Sprintf("n%d", i%4)), new(kinds[i%3])
			if i%4 == 0 {
				s.Queue, s.ApplicationName = new("root.batch.day"), new("n0")
			}
			if i%3 > 0 {
				s.ApplicationTags = []string{"t", fmt.Sprintf("t%d", i%3)}
			}
			if i%5 == 0 {
				s.AmContainerSpec.Application_ACLs = aclProtos(wire.ACLs{View: "eve"})
			}
			s.MaxAppAttempts = new(int32(1))
		})
		a := h.record(t, id)
		if a.MasterNumber == 0 {
			continue
		}
		switch i % 6 {
		case 1:
			h.launch(t, id)
		case 2:
			at := h.launch(t, id)
			h.must(t, &input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
		case 3:
			at := h.launch(t, id)
			h.must(t, &input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
			h.end(t, node, id, 0)
		case 4:
			h.end(t, node, id, 1)
		case 5:
			if _, err := h.kill("root", id, ""); err != nil {
				t.Fatal(err)
			}
		}
		h.now += 1000
	}
	return h
}

// TestFilters compares random combinations of filters with a plain implementation that reads the
// reports.
func TestFilters(t *testing.T) {
	h := crowd(t)
	all, err := h.svc.applications(context.Background(), as("root"), &proto.GetApplicationsRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[proto.YarnApplicationStateProto]int{}
	for _, r := range all.GetApplications() {
		states[r.GetYarnApplicationState()]++
	}
	if len(states) < 5 {
		t.Fatalf("the crowd is too much alike: %v", states)
	}
	some := func(t *rapid.T, name string, words ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		req := &proto.GetApplicationsRequestProto{
			ApplicationTypes: some(t, "types", "mapreduce", "SPARK", "yarn", "tez"),
			Users:            some(t, "users", "ann", "bob", "zoe"),
			Queues:           some(t, "queues", "default", "root.batch", "day", "root", "nowhere", "root.night"),
			ApplicationTags:  some(t, "tags", "t", "t1", "t2", "T"),
			ApplicationStates: rapid.SliceOfN(rapid.SampledFrom([]proto.YarnApplicationStateProto{4, 5, 6, 7, 8, 1}), 0,
				3).Draw(t, "states"),
		}
		if rapid.Bool().Draw(t, "limited") {
			req.Limit = new(rapid.Int64Range(0, 9).Draw(t, "limit"))
		}
		if rapid.Bool().Draw(t, "named") {
			req.Name = new(rapid.SampledFrom([]string{"n0", "n1", "nothing"}).Draw(t, "name"))
		}
		time := rapid.Int64Range(birth, h.now)
		if rapid.Bool().Draw(t, "started") {
			req.StartBegin = new(time.Draw(t, "from"))
		}
		if rapid.Bool().Draw(t, "ended") {
			req.FinishEnd = new(time.Draw(t, "to"))
		}
		req.Scope = rapid.SampledFrom([]proto.ApplicationsRequestScopeProto{0, 1, 2}).Draw(t, "scope").Enum()
		user := rapid.SampledFrom([]string{"ann", "eve", "root"}).Draw(t, "user")
		var got []string
		r, err := h.svc.applications(context.Background(), as(user), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.GetApplications() {
			got = append(got, fmt.Sprint(a.GetApplicationId().GetId()))
		}
		if want := plain(all.GetApplications(), req, user); !slices.Equal(got, want) {
			t.Fatalf("%v for %s: %v, want %v", req, user, got, want)
		}
	})
}

// plain is a plain implementation of the filters.
func plain(all []*proto.ApplicationReportProto, q *proto.GetApplicationsRequestProto, user string) []string {
	var out []string
	limit := int64(math.MaxInt64)
	if q.Limit != nil {
		limit = *q.Limit
	}
	anyOf := func(list []string, ok func(string) bool) bool { return len(list) == 0 || slices.ContainsFunc(list, ok) }
	for _, a := range all {
		owner := a.GetUser()
		mine := owner == user || user == "root" || (user == "eve" && (a.GetApplicationId().GetId()-1)%5 == 0)
		ended := a.GetFinishTime() != 0 && a.GetAppResource_Usage().GetNumUsedContainers() == -1
		if int64(len(out)) < limit &&
			anyOf(q.ApplicationTypes, func(s string) bool { return strings.EqualFold(s, a.GetApplicationType()) }) &&
			anyOf(q.Users, func(s string) bool { return s == owner }) &&
			anyOf(q.ApplicationTags, func(s string) bool { return slices.Contains(a.GetApplicationTags(), s) }) &&
			(len(q.ApplicationStates) == 0 || slices.Contains(q.ApplicationStates, a.GetYarnApplicationState())) &&
			anyOf(q.Queues, func(s string) bool {
				path := a.GetQueue()
				short := path[strings.LastIndexByte(path, '.')+1:]
				return s == path || s == short || (!ended && strings.HasPrefix(path, s+"."))
			}) &&
			(q.Name == nil || *q.Name == a.GetName()) &&
			(q.StartBegin == nil || a.GetStartTime() >= *q.StartBegin) &&
			(q.FinishEnd == nil || a.GetFinishTime() <= *q.FinishEnd) &&
			(q.GetScope() != proto.ApplicationsRequestScopeProto_OWN || owner == user) &&
			(q.GetScope() != proto.ApplicationsRequestScopeProto_VIEWABLE || mine) {
			out = append(out, fmt.Sprint(a.GetApplicationId().GetId()))
		}
	}
	return out
}

func TestListsOwnApplicationsOnly(t *testing.T) {
	h := crowd(t)
	everything, mine := h.list(t, "ann", &proto.GetApplicationsRequestProto{}), 0
	if len(everything) != 18 {
		t.Fatalf("ann sees %v", everything)
	}
	h.svc.cfg.OwnOnly = true
	for _, id := range h.list(t, "ann", &proto.GetApplicationsRequestProto{}) {
		if !slices.Contains(everything, id) {
			t.Errorf("application %s appears from nowhere", id)
		}
		mine++
	}
	if mine != 9 {
		t.Errorf("with yarn.webapp.filter-entity-list-by-user ann sees %d", mine)
	}
}

func TestSpans(t *testing.T) {
	if spanOf(nil, nil) != always || spanOf(new(int64(5)), nil) != (span{5, math.MaxInt64}) ||
		spanOf(nil, new(int64(5))) != (span{0, 5}) || spanOf(new(int64(7)), new(int64(5))) != (span{5, 7}) {
		t.Error("spans")
	}
	if s := (span{5, 7}); !s.has(5) || !s.has(7) || s.has(4) || s.has(8) {
		t.Error("ends of a span")
	}
}

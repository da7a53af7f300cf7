package yarn

import "testing"

func TestParseGang(t *testing.T) {
	for text, want := range map[string]Gang{
		"priority=1,count=4":                     {Priority: 1, AnyRequest: true, Count: 4},
		"priority=1;count=4":                     {Priority: 1, AnyRequest: true, Count: 4},
		"count=8,per-node=2,priority=0,rack=any": {AnyRequest: true, Count: 8, PerNode: 2},
		"priority=7,per-node=8,nodes=4,rack=one": {Priority: 7, AnyRequest: true, Count: 32, PerNode: 8,
			OneRack: true},
		"priority=7,count=12,nodes=4":   {Priority: 7, AnyRequest: true, Count: 12, PerNode: 3},
		"priority=1,request=-1,count=2": {Priority: 1, Request: -1, Count: 2},
		"priority=1,count=2,timeout=60": {Priority: 1, AnyRequest: true, Count: 2, TimeoutMillis: 60_000},
		"priority=1,count=2,timeout=60,then=ordinary": {Priority: 1, AnyRequest: true, Count: 2, TimeoutMillis: 60_000,
			Ordinary: true},
		"priority=1,count=1000,then=fail,timeout=9":      {Priority: 1, AnyRequest: true, Count: 1000, TimeoutMillis: 9000},
		"priority=2147483647,count=1,per-node=1,":        {Priority: 1<<31 - 1, AnyRequest: true, Count: 1, PerNode: 1},
		"priority=3,nodes=4,count=8,per-node=2":          {Priority: 3, AnyRequest: true, Count: 8, PerNode: 2},
		"priority=3,request=4611686018427387904,count=2": {Priority: 3, Request: 1 << 62, Count: 2},
	} {
		g, err := ParseGang(text)
		if err != nil || g != want || !g.Valid() {
			t.Errorf("%s is %+v, valid: %v, %v", text, g, g.Valid(), err)
		}
		if again, err := ParseGang(g.String()); err != nil || again != g {
			t.Errorf("%s is written %s, which is %+v, %v", text, g.String(), again, err)
		}
	}
}

func TestMalformedGangs(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "the priority is missing",
		"count=4":                                   "the priority is missing",
		"priority=1":                                "the count is missing",
		"priority=1,per-node=2":                     "the count is missing",
		"priority=1,nodes=2":                        "nodes needs count or per-node",
		"priority=1,count=0":                        "count is \"0\" and must be a number from 1 to 1000",
		"priority=1,count=-4":                       "count is \"-4\" and must be a number from 1 to 1000",
		"priority=1,count=1001":                     "count is \"1001\" and must be a number from 1 to 1000",
		"priority=1,count=4x":                       "count is \"4x\" and must be a number from 1 to 1000",
		"priority=1,count=99999999999999999999":     "count is \"99999999999999999999\" and must be a number from 1 to 1000",
		"priority=-1,count=4":                       "priority is \"-1\" and must be a number from 0 to 2147483647",
		"priority=1,count=4,count=5":                "count stands there twice",
		"priority=1,count=4,colour=red":             "there is no key \"colour\"",
		"priority=1,count":                          "count is \"\" and must be a number from 1 to 1000",
		"priority=1,count=4,rack=two":               "rack is \"two\" and must be \"one\" or \"any\"",
		"priority=1,count=4,timeout=0":              "timeout is \"0\" and must be seconds from 1 to 2678400",
		"priority=1,count=4,timeout=3153600000":     "timeout is \"3153600000\" and must be seconds from 1 to 2678400",
		"priority=1,count=4,timeout=9,then=nothing": "then is \"nothing\" and must be \"fail\" or \"ordinary\"",
		"priority=1,count=4,then=ordinary":          "then needs a timeout",
		"priority=1,count=5,per-node=2":             "a count of 5 has a remainder with 2 per node",
		"priority=1,count=5,nodes=2":                "a count of 5 cannot be spread over 2 nodes evenly",
		"priority=1,count=8,nodes=2,per-node=2":     "2 on each of 2 nodes are not 8",
		"priority=1,nodes=1000,per-node=2":          "it has 2000 members and may have 1000",
		"priority=1,nodes=1000,per-node=1000":       "it has 1000000 members and may have 1000",
	} {
		if g, err := ParseGang(text); err == nil || err.Error() != want {
			t.Errorf("%s gives %+v and %v, want %s", text, g, err, want)
		}
	}
	if bad := (&Gang{Count: MaxGangMembers + 1, AnyRequest: true}); bad.Valid() {
		t.Error("a gang out of bounds is valid")
	}
}

func TestGangIsOf(t *testing.T) {
	any, one := Gang{Priority: 5, AnyRequest: true}, Gang{Priority: 5, Request: 7}
	for _, k := range []SchedulerKey{{5, -1}, {5, 0}, {5, 7}} {
		if !any.IsOf(k) || one.IsOf(k) != (k.AllocationID == 7) {
			t.Errorf("IsOf(%v) = %v for any request, %v for request 7, want true, %v",
				k, any.IsOf(k), one.IsOf(k), k.AllocationID == 7)
		}
	}
	if any.IsOf(SchedulerKey{6, 7}) {
		t.Error("another priority")
	}
}

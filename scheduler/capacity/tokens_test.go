package capacity

import (
	"maps"
	"testing"

	"rmd/yarn"
)

func TestTokenTimes(t *testing.T) {
	const day = 86_400_000
	none := ReadTokenTimes(maps.All(map[string]string{}))
	want := TokenTimes{Roll: [yarn.KeyKinds]int64{day, day, day, day}, Activate: [yarn.KeyKinds]int64{900_000, 900_000, 900_000, 0},
		LifeMillis: 7 * day, RenewMillis: day}
	if none != want {
		t.Errorf("by default %+v, want %+v", none, want)
	}
	set := map[string]string{
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "10",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        "20",
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     "30",
		"yarn.resourcemanager.delegation.key.update-interval":                    "40000",
		"yarn.resourcemanager.delegation.token.max-lifetime":                     "50000",
		"yarn.resourcemanager.delegation.token.renew-interval":                   "60000",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                            "4000",
		"yarn.am.liveness-monitor.expiry-interval-ms":                            "6000",
		Prefix + "root.queues": "a", Prefix + "root.a.capacity": "100",
	}
	want = TokenTimes{Roll: [yarn.KeyKinds]int64{10_000, 20_000, 30_000, 40_000}, Activate: [yarn.KeyKinds]int64{6000, 6000, 9000, 0},
		LifeMillis: 50_000, RenewMillis: 60_000}
	if got := ReadTokenTimes(maps.All(set)); got != want {
		t.Errorf("as set %+v, want %+v", got, want)
	}
	var props []Property
	for name, value := range set {
		if !Relevant(name) {
			t.Errorf("%s is no part of the configuration", name)
		}
		props = append(props, Property{Name: name, Value: value})
	}
	c, err := Parse(props)
	if err != nil || c.Tokens != want || len(c.Warnings) > 0 {
		t.Errorf("parsed %+v, %v, %v", c.Tokens, c.Warnings, err)
	}
	set["yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs"] = "often"
	if got := ReadTokenTimes(maps.All(set)); got.Roll[yarn.KeyNM] != day {
		t.Errorf("what is not valid became %d", got.Roll[yarn.KeyNM])
	}
	if _, err := Parse(append(props, Property{Name: "yarn.resourcemanager.am.global.max-attempts", Value: "0"})); err == nil {
		t.Error("no attempt at all is taken")
	}
}

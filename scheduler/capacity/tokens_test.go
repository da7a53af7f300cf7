package capacity

import (
	"maps"
	"strings"
	"testing"

	"rmd/yarn"
)

func TestTokenSettings(t *testing.T) {
	const day = 86_400_000
	parse := func(set map[string]string) (*Config, error) {
		var props []Property
		for name, value := range set {
			if !Relevant(name) {
				t.Errorf("%s is no part of the configuration", name)
			}
			props = append(props, Property{Name: name, Value: value})
		}
		return Parse(props)
	}
	set := map[string]string{Prefix + "root.queues": "a", Prefix + "root.a.capacity": "100"}
	want := TokenSettings{KeyBytes: 32, Roll: [yarn.KeyKinds]int64{day, day, day, day},
		Activate:   [yarn.KeyKinds]int64{900_000, 900_000, 900_000, 0},
		LifeMillis: 7 * day, RenewMillis: day}
	if c, err := parse(set); err != nil || c.Tokens != want {
		t.Errorf("by default %+v, want %+v; %v", c.Tokens, want, err)
	}
	maps.Copy(set, map[string]string{
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "10",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        "20",
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     "30",
		"yarn.resourcemanager.delegation.key.update-interval":                    "40000",
		"yarn.resourcemanager.delegation.token.max-lifetime":                     "50000",
		"yarn.resourcemanager.delegation.token.renew-interval":                   "60000",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                            "4000",
		"yarn.am.liveness-monitor.expiry-interval-ms":                            "6000",
	})
	want = TokenSettings{KeyBytes: 32, Roll: [yarn.KeyKinds]int64{10_000, 20_000, 30_000, 40_000},
		Activate:   [yarn.KeyKinds]int64{6000, 6000, 9000, 0},
		LifeMillis: 50_000, RenewMillis: 60_000}
	c, err := parse(set)
	if err != nil || c.Tokens != want || len(c.Warnings) > 0 {
		t.Errorf("parsed %+v, %v, %v", c.Tokens, c.Warnings, err)
	}
	set[TokenAlgorithmKey], set[tokenLengthKey] = "HmacSHA512", "500"
	if c, err := parse(set); err != nil || c.Tokens.Algorithm != yarn.HMACSHA512 || c.Tokens.KeyBytes != 63 {
		t.Errorf("parsed %+v, %v", c.Tokens, err)
	}
	set[TokenAlgorithmKey] = "HmacMD5"
	if _, err := parse(set); err == nil || !strings.Contains(err.Error(), "HmacSHA256") {
		t.Errorf("an algorithm that is not offered: %v", err)
	}
	delete(set, TokenAlgorithmKey)
	set["yarn.resourcemanager.am.global.max-attempts"] = "0"
	if _, err := parse(set); err == nil {
		t.Error("no attempt at all is taken")
	}
}

package cluster

import (
	"errors"
	"testing"
	"time"
)

// TestAutopilotSettingsOverride checks that the settings of AutopilotNow replace those of the
// configuration for as long as it returns any.
func TestAutopilotSettingsOverride(t *testing.T) {
	var told *AutopilotConfig
	c := &Cluster{cfg: DefaultConfig()}
	c.cfg.AutopilotNow = func() (AutopilotConfig, bool) {
		if told == nil {
			return AutopilotConfig{}, false
		}
		return *told, true
	}
	if got := c.AutopilotConfig(); got != DefaultAutopilot() {
		t.Errorf("AutopilotConfig without settings = %+v, want %+v", got, DefaultAutopilot())
	}
	told = &AutopilotConfig{MaxTrailingLogs: 7, LastContactThreshold: time.Second, DeadServerLastContactThreshold: time.Hour}
	want := *told
	want.Interval = DefaultAutopilot().Interval
	if got := c.AutopilotConfig(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	told = nil
	if got := c.AutopilotConfig(); got != DefaultAutopilot() {
		t.Errorf("AutopilotConfig after the settings are removed = %+v, want %+v", got, DefaultAutopilot())
	}
	if err := c.CheckAutopilot(want); err != nil {
		t.Error(err)
	}
	want.DeadServerLastContactThreshold = time.Second
	var r *Refusal
	if err := c.CheckAutopilot(want); !errors.As(err, &r) || r.Code != CodeOutOfRange {
		t.Errorf("CheckAutopilot of 1s for dead servers: %v, want a refusal with code %s", err, CodeOutOfRange)
	}
}

package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !For(t.Context(), time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("waited %s", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if began = time.Now(); For(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("waited %s under a context of a second", time.Since(began))
		}
	})
}

//as: leader/clock.go

package leader

import "time"

func now() time.Time { return time.Now() }

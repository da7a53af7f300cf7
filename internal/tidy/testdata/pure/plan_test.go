//as: scheduler/plan_test.go

package scheduler

import "time"

var start = time.Now()

//as: server/sweep.go

package server

import "time"

func sweep() { // want internal/job
	for range time.NewTicker(time.Second).C {
	}
}

func once() { time.Sleep(time.Second) }

//as: client/edge.go

package client

import "time"

func poll() {
	for range time.NewTicker(time.Second).C {
	}
}

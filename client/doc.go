// Package client calls a cluster's REST API through any of its replicas. The rmd command and other
// programs use it.
//
//	c, err := client.New(client.Config{Addrs: []string{"rm1:8088", "rm2:8088", "rm3:8088"}, Timeout: 30 * time.Second, User: "ann"})
//	…
//	app, err := c.Submit(ctx, api.Submit{Queue: "root.batch", Name: "nightly"})
//
// Package api defines the documents. A refusal of the cluster is an *api.Error. A request without
// an answer returns an *Error. Both have a stable code, which CodeOf returns.
//
// A request first goes to the replica that answered last, then to the others. The client tries the
// next replica if one cannot be reached, has no leader or is busy, until one answers or the time is
// up. This is safe for writes, too: each write has an Idempotency-Key CLIENT/SEQUENCE that stays
// the same in all tries, so the cluster executes it once. A write whose time is up has an unknown
// outcome, and its error says so.
//
// Reads use ?consistent unless Stale is set.
package client

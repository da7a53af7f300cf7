// Package client speaks to a cluster's REST API through any of its replicas. The rmd command
// uses it, and other programs may.
//
//	c, err := client.New(client.Config{Addrs: []string{"rm1:8088", "rm2:8088", "rm3:8088"}, Timeout: 30 * time.Second, User: "ann"})
//	…
//	app, err := c.Submit(ctx, api.Submit{Queue: "root.batch", Name: "nightly"})
//
// The documents are those of package api. A refusal of the cluster is an *api.Error, and a
// request that got no answer is an *Error; both have a stable code, and CodeOf finds it.
//
// A request is tried at the replica that answered last, then at the others. A
// replica that cannot be reached, has no leader or is busy is passed over, until
// one answers or the time is up. This is safe for writes as well: each carries an
// Idempotency-Key CLIENT/SEQUENCE that stays the same over all tries, so however
// often it arrives it is done once. A write whose time is up has an unknown
// outcome, and its error says so.
//
// Reads ask for ?consistent, unless Stale is set.
package client

// Package api has the JSON documents of rmd's own REST API. The server, the command line and other
// clients use them.
//
// The package contains no server code, so clients can import it. Field names are stable: new
// versions add fields and rename none. Times are Unix milliseconds (…_ms), memory in a Resource is
// MiB, states have YARN's names. Empty fields may be omitted.
//
//	GET    /v1/health /v1/ready /v1/leader[?role=leader]        Health
//	GET    /v1/jobs                                             Jobs
//	GET    /v1/cluster                                          Cluster
//	GET    /v1/cluster/members                                  Members
//	GET    /v1/cluster/verify                                   Verify
//	POST   /v1/cluster:init                     InitRequest  →  InitReply
//	POST   /v1/cluster:join                     JoinRequest  →  JoinReply
//	POST   /v1/cluster:transfer                 TransferRequest → Done
//	POST   /v1/cluster/members/{id}:promote|demote|remove  MemberRequest → MemberChange
//	POST   /v1/cluster/tokens                   TokenRequest →  Token
//	GET    /v1/access                                           Access
//	GET    /v1/access/tokens                                    AccessTokens
//	POST   /v1/access/tokens                    AccessTokenRequest → AccessTokenMade
//	DELETE /v1/access/tokens/{name}[?force]                     Done
//	GET    /v1/autopilot, PUT                   Autopilot    →  AutopilotState
//	GET    /v1/upgrade, POST /v1/upgrade:finalize               Upgrade
//	GET    /v1/snapshot[?stale]                                 the bytes
//	PUT    /v1/snapshot[?replace_state=CLUSTER-ID][&dry_run]    the bytes → Restored
//	POST   /v1/snapshot:take                                    Snapshot
//	GET    /v1/snapshots                                        Snapshots
//
//	GET    /v1/apps?state&queue&user&type&name&tag&limit&after&order=newest     Apps
//	POST   /v1/apps[?dry_run][?explain]         Submit       →  Submitted
//	GET    /v1/apps/{id}                                        App
//	GET    /v1/apps/{id}/explain                                Explanation
//	GET    /v1/apps/{id}/forecast                               Forecast
//	GET    /v1/apps/{id}/containers?limit&after                 Containers
//	GET    /v1/apps/{id}/attempts                               Attempts
//	GET    /v1/apps/{id}/asks                                   Asks
//	POST   /v1/apps/{id}:kill                   Kill         →  Done
//	POST   /v1/apps/{id}:move                   Move         →  Done
//	POST   /v1/apps/{id}:gang                   Gang         →  Done
//	POST   /v1/apps/{id}:priority               Priority     →  Priority
//	POST   /v1/apps/{id}/attempt:register       Register     →  Registered
//	POST   /v1/apps/{id}/attempt:allocate       Allocate     →  Allocated
//	POST   /v1/apps/{id}/attempt:finish         Finish       →  Done
//
//	GET    /v1/nodes?state&rack&label&limit&after               Nodes
//	GET    /v1/nodes/{id}, …/placement                          Node, Placement
//	GET    /v1/nodes:choose?count                               DrainChoices
//	POST   /v1/nodes:drain                      DrainNodes   →  Done
//	POST   /v1/nodes/{id}:drain                 Drain        →  Done
//	POST   /v1/nodes/{id}:undrain                               Done
//	POST   /v1/nodes/{id}:forget                                Done
//	POST   /v1/nodes/{id}:resource              NodeResource →  Done
//
//	GET    /v1/labels                                           Labels
//	GET    /v1/labels/{name}                                    LabelDetails
//	GET    /v1/labels:map?label&limit&after                     LabelMap
//	POST   /v1/labels:add                       AddLabels    →  LabelChange
//	POST   /v1/labels:remove                    RemoveLabels →  LabelChange
//	POST   /v1/labels:map                       MapLabels    →  LabelChange
//
//	GET    /v1/queues                                           Queues (a tree)
//	GET    /v1/queues/{path}                                    Queue (with its subtree)
//	POST   /v1/queues:place                     PlaceInQueue → QueuePlacement
//	POST   /v1/queues/{path}:stop|start                         Done
//	POST   /v1/queues/{path}:adopt?dry_run      If-Match         ConfApplied
//
//	GET    /v1/reservations?node&app&queue&limit&after          Reservations
//	GET    /v1/reservations/{id}                                Reservation
//	GET    /v1/reservations/{id}/history                        ReservationHistory
//	DELETE /v1/reservations/{id}?reason=                        Done
//
//	GET    /v1/tokens?app&state&limit&after                     AppTokens
//	GET    /v1/forecast                                         ForecastReport
//	GET    /v1/preemption                                       Preemption
//	POST   /v1/preemption:preview       PreviewPreemption    →  PreemptionPreview
//
//	GET    /v1/conf                                             Conf
//	PUT    /v1/conf (If-Match: version)[?dry_run&comment&allow_unknown]  PutConf or XML → ConfApplied
//	GET    /v1/conf/versions, …/{v}                             ConfVersions, Conf
//	GET    /v1/conf/versions/{v}/diff/{w}                       ConfDiff
//	POST   /v1/conf:validate                    PutConf or XML → Validation
//	POST   /v1/whatif                           PutConf or XML → WhatIf
//	POST   /v1/replay:rerun                     → Rerun: a replay of the log with and without reservations
//	GET    /v1/shadow                                           Shadow: another configuration beside the cluster
//	POST   /v1/shadow                           StartShadow or XML → Shadow
//	DELETE /v1/shadow                                           Shadow
//	POST   /v1/conf:rollback                    Rollback     →  ConfApplied
//
//	GET    /v1/events?app&node&queue&kind&after  Server-Sent Events: event "batch", id = log index, data = EventBatch
//	GET    /v1/history[?queue|?node]                            History: the last hour
//	GET    /v1/apps/{id}/history                                AppHistory
//	GET    /v1/log?from&count&app&node&queue&kind               Log
//	GET    /v1/audit?who&action&since&after&limit                Audit
//	POST   /v1/inputs                           see AppendFrame
//	GET    /v1/openapi.json                                     this API as an OpenAPI document
//
// A read with ?consistent waits until the replica has applied everything that the leader has
// committed. A read with ?min_index=N waits until the replica has applied index N. Every error is
// an Error.
package api

package input

import (
	"unicode/utf8"

	"rmd/yarn"
)

// Limits that other packages use.
const (
	MaxCount   = 1_000_000 // containers of one ask
	MaxEntries = 100_000   // elements of one list in a request
	MaxName    = 256       // bytes of the name of a user, group, token, host or rack
	MaxPath    = 2 << 10   // bytes of a queue's path
	MaxAddress = 4 << 10   // bytes of a tracking URL
	MaxText    = 64 << 10  // bytes of diagnostics
	MaxContext = 4 << 20   // bytes of a submission context
	MaxKey     = 512       // bytes of an idempotency key
	MaxLabels  = 4096      // labels in a request
	MaxSilence = 1000      // nodes in each list of a NodeSilence

	// MaxAppTokens limits the tokens of an application that the cluster renews.
	MaxAppTokens = 1000
	// MaxRenewals limits the further tokens of TokenRenewed.
	MaxRenewals = 1000

	// MaxMillis is the largest time or duration, in milliseconds: 2,200 years. The sum of any two
	// does not overflow.
	MaxMillis = int64(1) << 46
)

// Cut shortens a text to at most most bytes, between two characters.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// limits has the limit of each field whose type does not bound it, for all inputs and the types in
// them: the length of texts, bytes and lists, and the value of 64-bit numbers. Resources are
// bounded by yarn.MaxAmount instead. A field without an entry accepts only its zero value
// (TestEveryFieldHasALimit).
var limits = map[string]limit{
	// Identities are only compared; nothing computes with them.
	"ApplicationID.ClusterTimestamp": any64,
	"ContainerID.Number":             any64,
	"SchedulerKey.AllocationID":      any64,
	"NodeID.Host":                    upTo(MaxName),

	"Caller.Who":  upTo(2 * MaxName),
	"Caller.From": upTo(MaxName),

	"InitCluster.ClusterID":        upTo(MaxName),
	"InitCluster.ClusterTimestamp": millis,
	"InitCluster.Properties":       upTo(200_000),
	"InitCluster.Entropy":          upTo(4 << 10),
	"InitCluster.Include":          upTo(MaxEntries),
	"InitCluster.Include[]":        upTo(MaxName),
	"InitCluster.Exclude":          upTo(MaxEntries),
	"InitCluster.Exclude[]":        upTo(MaxName),
	"Property.Name":                upTo(4 << 10),
	"Property.Value":               lines(1 << 20),
	"Property.Origin":              start(4 << 10),
	"Tick.Entropy":                 upTo(4 << 10),

	"SetQueues.Properties":        upTo(200_000),
	"SetQueues.IfVersion":         any64,
	"SetQueues.Author":            upTo(MaxName),
	"SetQueues.Comment":           lines(4 << 10),
	"RollbackQueues.To":           any64,
	"RollbackQueues.Author":       upTo(MaxName),
	"RollbackQueues.Comment":      lines(4 << 10),
	"AdoptQueue.Queue":            upTo(MaxPath),
	"AdoptQueue.IfVersion":        any64,
	"AdoptQueue.Author":           upTo(MaxName),
	"AdoptQueue.Comment":          lines(4 << 10),
	"SetQueueState.Queue":         upTo(MaxPath),
	"SetHosts.Include":            upTo(MaxEntries),
	"SetHosts.Include[]":          upTo(MaxName),
	"SetHosts.Exclude":            upTo(MaxEntries),
	"SetHosts.Exclude[]":          upTo(MaxName),
	"SetHosts.TimeoutMillis":      millis,
	"SetHosts.Who":                upTo(MaxName),
	"SetHosts.Timeouts":           upTo(MaxEntries),
	"HostTimeout.Host":            upTo(MaxName),
	"HostTimeout.Millis":          millis,
	"CancelReservation.Number":    any64,
	"CancelReservation.Who":       upTo(MaxName),
	"CancelReservation.Reason":    lines(4 << 10),
	"RaiseEpoch.ClusterTimestamp": millis,
	"RaiseEpoch.Why":              lines(4 << 10),
	"Audit.Who":                   start(MaxName),
	"Audit.From":                  start(MaxName),
	"Audit.Action":                start(MaxName),
	"Audit.Target":                start(4 << 10),
	"Audit.Result":                start(4 << 10),

	// Label names may be longer here than the cluster allows, so that the planner refuses them in
	// YARN's words.
	"SetLabels.Labels":      upTo(MaxLabels),
	"Label.Name":            upTo(4 << 10),
	"RemoveLabels.Names":    upTo(MaxLabels),
	"RemoveLabels.Names[]":  upTo(4 << 10),
	"LabelNodes.Nodes":      upTo(MaxEntries),
	"LabelledNode.Labels":   upTo(100),
	"LabelledNode.Labels[]": upTo(4 << 10),

	"CreateJoinToken.Hash":             upTo(64),
	"CreateJoinToken.TTLMillis":        millis,
	"CreateJoinToken.Who":              upTo(MaxName),
	"UseJoinToken.Hash":                upTo(64),
	"UseJoinToken.By":                  upTo(MaxName),
	"SetAccessToken.Name":              user,
	"SetAccessToken.Hash":              upTo(64),
	"SetAccessToken.ExpiresMillis":     millis,
	"SetAccessToken.Who":               upTo(MaxName),
	"RevokeAccessToken.Name":           upTo(MaxName),
	"SetAutopilot.DeadServerMillis":    millis,
	"SetAutopilot.LastContactMillis":   millis,
	"SetAutopilot.MaxTrailingLogs":     any64,
	"SetAutopilot.StabilizationMillis": millis,
	"IssueDelegationToken.Owner":       user,
	"IssueDelegationToken.Renewer":     user,
	"IssueDelegationToken.RealUser":    user,
	"RenewDelegationToken.By":          user,
	"CancelDelegationToken.By":         user,

	"SubmitApplication.Name":           start(1 << 10),
	"SubmitApplication.User":           user,
	"SubmitApplication.Groups":         upTo(10_000),
	"SubmitApplication.Groups[]":       upTo(MaxName),
	"SubmitApplication.TagGroups":      upTo(10_000),
	"SubmitApplication.TagGroups[]":    upTo(MaxName),
	"SubmitApplication.Queue":          upTo(MaxPath),
	"SubmitApplication.Type":           start(MaxName),
	"SubmitApplication.Tags":           upTo(100),
	"SubmitApplication.Tags[]":         upTo(MaxName),
	"SubmitApplication.LifetimeMillis": millis,
	"SubmitApplication.ValidityMillis": millis,
	"SubmitApplication.Context":        upTo(MaxContext),
	"SubmitApplication.AMPlaces":       upTo(1000),
	"Place.Name":                       upTo(MaxName),
	"SubmitApplication.Label":          upTo(4 << 10), // as Label.Name
	"SubmitApplication.AMLabel":        upTo(4 << 10),
	"AppTokens.List":                   upTo(MaxAppTokens),
	"AppTokens.Conf":                   upTo(MaxContext),
	"AppTokens.DelayMillis":            millis,
	"AppToken.Kind":                    upTo(MaxName),
	"AppToken.Service":                 upTo(4 << 10),
	"AppToken.Identifier":              upTo(MaxText),
	"AppToken.Password":                upTo(MaxText),
	"AppToken.MaxMillis":               millis,
	"TokenRenewed.ExpiresMillis":       millis,
	"TokenRenewed.Also":                upTo(MaxRenewals),
	"TokenRenewal.ExpiresMillis":       millis,
	"TokenCallFailed.AgainMillis":      millis,
	"TokenCallFailed.Why":              start(4 << 10),
	"TokensFetched.List":               upTo(MaxAppTokens),
	"TokensFetched.Credentials":        upTo(MaxContext),
	"TokenFetchFailed.AgainMillis":     millis,
	"TokenFetchFailed.Why":             start(4 << 10),
	"SetLifetime.LifetimeMillis":       millis,
	"FailAttempt.User":                 user,
	"KillApplication.User":             user,
	"KillApplication.Diagnostics":      end(MaxText),
	"MoveApplication.Queue":            upTo(MaxPath),
	"MoveApplication.User":             user,
	"MoveApplication.Groups":           upTo(10_000),
	"MoveApplication.Groups[]":         upTo(MaxName),
	"SetQueues.User":                   user,
	"SetQueues.Groups":                 upTo(10_000),
	"SetQueues.Groups[]":               upTo(MaxName),
	"SetPriority.User":                 user,
	"SetPriority.Groups":               upTo(10_000),
	"SetPriority.Groups[]":             upTo(MaxName),

	"RegisterAttempt.Host":            upTo(MaxName),
	"RegisterAttempt.TrackingURL":     upTo(MaxAddress),
	"RegisterAttempt.Entropy":         upTo(4 << 10),
	"Allocate.Asks":                   upTo(MaxEntries),
	"Ask.Name":                        upTo(MaxName),
	"Ask.Count":                       within(0, MaxCount),
	"Ask.Label":                       upTo(4 << 10),
	"Allocate.Releases":               upTo(MaxEntries),
	"Allocate.BlacklistAdd":           upTo(10_000),
	"Allocate.BlacklistAdd[]":         upTo(MaxName),
	"Allocate.BlacklistRemove":        upTo(10_000),
	"Allocate.BlacklistRemove[]":      upTo(MaxName),
	"Allocate.TrackingURL":            upTo(MaxAddress),
	"Allocate.Updates":                upTo(MaxEntries),
	"Allocate.Gang":                   upTo(MaxName),
	"SetGang.Gang":                    upTo(MaxName),
	"FinishAttempt.Diagnostics":       end(MaxText),
	"FinishAttempt.TrackingURL":       upTo(MaxAddress),
	"AttemptLaunched.Container":       any64,
	"AttemptLaunchFailed.Container":   any64,
	"AttemptLaunchFailed.Diagnostics": end(MaxText),

	"RegisterNode.Rack":                upTo(MaxName),
	"RegisterNode.Version":             upTo(MaxName),
	"RegisterNode.Containers":          upTo(MaxEntries),
	"RegisterNode.Recovered":           upTo(MaxEntries),
	"RecoveredContainer.StartedMillis": millis,
	"ContainerStatus.Diagnostics":      end(16 << 10),
	"RegisterNode.Running":             upTo(MaxEntries),
	"RegisterNode.Report":              end(16 << 10),
	"RegisterNode.Address":             upTo(MaxName),
	"RegisterNode.HeartbeatSession":    any64,
	"RegisterNode.PrevSession":         any64,
	"NodeHeartbeat.Report":             end(16 << 10),
	"NodeHeartbeat.Statuses":           upTo(MaxEntries),
	"NodeHeartbeat.CleanupsAcked":      upTo(MaxEntries),
	"NodeHeartbeat.SignalsAcked":       upTo(MaxEntries),
	"NodeHeartbeat.HeartbeatSession":   any64,
	"NodeHeartbeat.RemovalsAcked":      any64,
	"NodeHeartbeat.PrevSession":        any64,
	"NodeHeartbeat.Sizes":              upTo(MaxEntries),
	"NodeHeartbeat.SizesAcked":         upTo(MaxEntries),
	"NodeHeartbeat.KeepAlive":          upTo(MaxEntries),
	"NodesHeard.Nodes":                 upTo(MaxEntries),
	"NodeSilence.Silent":               upTo(MaxSilence),
	"NodeSilence.Heard":                upTo(MaxSilence),
	"SilentNode.SinceMillis":           millis,
	"ExpireContainers.Containers":      upTo(MaxEntries),
	"DrainNode.DeadlineMillis":         millis,
	"DrainNodes.IDs":                   upTo(MaxEntries),
	"DrainNodes.DeadlineMillis":        millis,
	"UnregisterNode.HeartbeatSession":  any64,
}

// limit is the range of one field: of its length, or of its value.
type limit struct {
	least, most int64
	// over says what happens to a text or number out of range.
	over over
	// form is what a text may contain if it is not shortened. Others are cleaned.
	form form
}

type form uint8

const (
	nameForm form = iota // yarn.CheckName
	userForm             // yarn.CheckUser
	textForm             // yarn.CleanText changes nothing
)

type over uint8

const (
	refuse    over = iota // refuse the request
	keepStart             // cut off the end of a text
	keepEnd               // cut off the start of a text, since causes are at the end
	nearest               // use the nearest allowed number
	nothing               // any number is allowed
)

var (
	any64  = limit{over: nothing}
	millis = limit{least: -MaxMillis, most: MaxMillis, over: nearest}
)

// user is the limit of a user's name.
var user = limit{most: MaxName, form: userForm}

func upTo(most int64) limit          { return limit{most: most} }
func lines(most int64) limit         { return limit{most: most, form: textForm} }
func start(most int64) limit         { return limit{most: most, over: keepStart} }
func end(most int64) limit           { return limit{most: most, over: keepEnd} }
func within(least, most int64) limit { return limit{least: least, most: most} }

// amount is the range of each kind of a Resource. It allows negative numbers, because the planner
// refuses or ignores these depending on the field.
var amount = limit{least: -yarn.MaxAmount, most: yarn.MaxAmount}

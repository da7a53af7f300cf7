// Package placement chooses the queue of an application by mapping rules, as CSMappingPlacementRule
// of Hadoop 3.4.2 does. A rule looks at the user, the groups, the name of the application and the
// queue that the client named.
//
// Rules come from yarn.scheduler.capacity.queue-mappings and
// yarn.scheduler.queue-placement-rules.app-name (ParseLegacy), or from JSON (ParseJSON). Check
// finds the rules whose queue can never be used. Rules.Place applies the rules: the first rule that
// matches decides, unless it only sets the default queue, or its queue cannot be used and its
// fallback is to skip.
//
// The leader places an application once, when it plans the submission, and the log contains the
// queue. All results depend only on the rules, the queue tree and the submission.
//
// Begin with rule.go (Rule, Rules, Queues and the variables) and place.go (Place). legacy.go and
// json.go read rules, and check.go checks them.
package placement

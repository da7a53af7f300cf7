// Package placement says which queue an application goes to, by the mapping rules of YARN 3.4.2's
// CSMappingPlacementRule. A rule looks at the user, the groups, the name of the application and the
// queue that the client named.
//
// Rules come from yarn.scheduler.capacity.queue-mappings and
// yarn.scheduler.queue-placement-rules.app-name (ParseLegacy) or from JSON (ParseJSON). Check finds
// the rules whose queue can never exist. Rules.Place applies the rules: the first rule that matches
// decides, unless its queue cannot be used and its fallback is to skip.
//
// The leader places an application once, when it plans the submission, and the log has the queue.
// Everything here is a pure function of rules, queue tree and submission.
package placement

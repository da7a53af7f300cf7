// Package placement says which queue an application goes to, by the mapping rules of YARN 3.4.2's
// CSMappingPlacementRule: who submits, with which groups, under which name, and to which queue.
//
// Rules come from yarn.scheduler.capacity.queue-mappings and
// yarn.scheduler.queue-placement-rules.app-name (ParseLegacy) or from JSON (ParseJSON). Check finds
// the rules whose queue can never exist. Rules.Place runs them: the first rule that matches decides,
// unless its queue cannot be used and its fallback is to skip.
//
// The leader places once, when it plans the submission; the log says which queue it was. Everything
// here is a pure function of rules, queue tree and submission.
package placement

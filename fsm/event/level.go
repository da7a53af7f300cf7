package event

// Format is the batch format this build writes; it reads every earlier one.
const Format = 1

// Level is the feature level of this build: the highest level whose events the build knows.
const Level = 2

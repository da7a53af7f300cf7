//as: cluster/comment.go

package cluster

// DESIGN.md and cluster/DESIGN.md say why. CHANGELOG.md is at the root.
const named = "no-such.md"

const nowhere = 0 // as operations.md, section 3, says // want the document operations.md does not exist

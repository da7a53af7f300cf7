package cluster

import "fmt"

// A text that proposes to give up a disk names the condition under which this costs nothing: the
// other replicas have a leader, so a majority has the data. All such texts are made here; a test in
// internal/tidy keeps them out of other files.

// needsLeader is the condition.
const needsLeader = "only if the other replicas have a leader (see \"rmd cluster status\" there): "

// Replace says how to give up the disk of a member.
func Replace(id string) string {
	return fmt.Sprintf("%s\"rmd cluster remove %s\", wipe its data directory, and join it again; else keep the data",
		needsLeader, id)
}

// withoutData says how a member comes back that runs without data. Only if there is a leader, a majority has
// the data, so that the disk may be given up.
func withoutData(id string, led bool) string {
	text := "it runs without data: mount its disk"
	if led {
		text += fmt.Sprintf("; if that is lost, rmd cluster remove %s, and join it again", id)
	}
	return text
}

// Rejoin says how to give up the disk of a replica that is not a member of the cluster, or not any
// more.
const Rejoin = needsLeader + "wipe its data directory, and join it again; else keep the data"

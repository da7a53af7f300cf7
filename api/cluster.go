package api

import (
	"fmt"
	"strings"
	"time"
)

// Health answers /v1/health, /v1/ready and /v1/leader.
type Health struct {
	Status  string `json:"status"` // ok, or the code of a problem
	ID      string `json:"id"`
	Role    string `json:"role"`
	Leader  string `json:"leader,omitempty"`
	Address string `json:"leader_address,omitempty"`
	Term    uint64 `json:"term"`
	Index   uint64 `json:"index"`
	// StalenessMillis is the time since this replica last heard from the leader, or −1 if it never
	// has.
	StalenessMillis int64  `json:"staleness_ms"`
	Message         string `json:"message,omitempty"`
	// Problem is a problem of this replica that needs a person's attention, such as a full disk or
	// a lack of file descriptors. Of background jobs that fail it has only the names; /v1/jobs has
	// their errors.
	Problem string `json:"problem,omitempty"`
	// Warning is what will become a problem if nobody acts, such as a certificate that ends soon.
	Warning string `json:"warning,omitempty"`
}

// Jobs answers /v1/jobs: the background jobs of the replica that answers.
type Jobs struct {
	ID   string `json:"id"`
	Jobs []Job  `json:"jobs"`
}

// Job says how a background job of a replica is doing. Its counts begin at the start of the replica.
type Job struct {
	Name     string `json:"name"`
	Does     string `json:"does"` // what it does, as the end of "cannot …"
	Runs     uint64 `json:"runs"`
	Failures uint64 `json:"failures"`
	InARow   uint64 `json:"failures_in_a_row"` // since the last success
	// SuccessMillis and FailureMillis are the times of the last success and the last failure, or 0.
	SuccessMillis int64  `json:"success_ms,omitempty"`
	FailureMillis int64  `json:"failure_ms,omitempty"`
	Error         string `json:"error,omitempty"`   // the last error, if the last run failed
	Problem       string `json:"problem,omitempty"` // set if the job counts as failing
}

// Cluster describes the replicas and judges their health.
type Cluster struct {
	Name             string    `json:"cluster_name"`
	ClusterID        string    `json:"cluster_id"`
	ClusterTimestamp int64     `json:"cluster_timestamp"`
	Epoch            uint32    `json:"epoch"`
	Level            uint32    `json:"level"` // feature level
	NowMillis        int64     `json:"now_ms"`
	ID               string    `json:"id"` // the replica that answers
	Role             string    `json:"role"`
	Version          string    `json:"version"`
	Leader           string    `json:"leader,omitempty"`
	LeaderAddress    string    `json:"leader_address,omitempty"`
	LeaderSinceMs    int64     `json:"leader_since_ms,omitempty"` // by the leader's clock; omitted if unknown
	LeaderForMs      int64     `json:"leader_for_ms,omitempty"`   // by the clock of the replica that answers
	Term             uint64    `json:"term"`
	Index            uint64    `json:"index"` // the last index that the answering replica has applied
	Digest           string    `json:"digest,omitempty"`
	Verdict          Verdict   `json:"verdict"`
	LastFailover     *Failover `json:"last_failover,omitempty"` // the whole last interruption
	// Failovers lists the last elections that the answering replica saw, newest first.
	Failovers []Failover `json:"failovers,omitempty"`
	Members   []Member   `json:"members"`
	Totals    Totals     `json:"totals"`
	// Rooms says for each label how whole the free resources are. It begins with the nodes without
	// a label.
	Rooms []LabelRoom `json:"rooms"`
}

// Verdict judges the health of the cluster.
type Verdict struct {
	// Status is that of the replicas: healthy, degraded (they have lost some of their safety), no-leader,
	// starting, not-initialized or diverged. Warnings do not change it.
	Status        string `json:"status"`
	Text          string `json:"text"`
	Voters        int    `json:"voters"`
	HealthyVoters int    `json:"healthy_voters"` // alive and in step
	Quorum        int    `json:"quorum"`
	// CanLose is how many voters may fail, whichever they are, so that the others can still elect a
	// leader.
	CanLose int `json:"can_lose"`
	InStep  int `json:"in_step"`
	// Problems and Warnings name those of the replicas. A problem needs a person's attention now, a
	// warning soon.
	Problems []string `json:"problems,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// DigestsEqual is null if too few replicas reported their digest at one index.
	DigestsEqual *bool `json:"digests_equal"`
}

// Condition is the status in words. Healthy replicas do not help if no node is left. Without a leader
// nobody knows which nodes are left.
func (c Cluster) Condition() string {
	t := c.Totals
	switch {
	case c.Leader == "" || t.Nodes == 0 || t.UsableNodes > t.DrainingNodes:
		return c.Verdict.Status
	case c.Verdict.Status == "healthy":
		return "healthy, but no node takes containers"
	}
	return c.Verdict.Status + ", and no node takes containers"
}

// JoinAdvice says what to do with a replica without data. The id of one that was wiped is still that of
// a member.
const JoinAdvice = `if the cluster exists, add the replica with "rmd cluster join", after "rmd cluster remove ID" ` +
	"if it was a member"

// Failover is an election that this replica saw.
type Failover struct {
	AtMillis  int64   `json:"at_ms"`
	Millis    float64 `json:"duration_ms"` // from the loss of a leader to the next one, as this replica saw it
	Term      uint64  `json:"term"`
	OldLeader string  `json:"old_leader,omitempty"`
	NewLeader string  `json:"new_leader,omitempty"`
	Elections int     `json:"elections,omitempty"` // of an interruption: how many it took, if more than one
}

// failoversApart is how many milliseconds a leader leads between two interruptions if it decides nothing.
// One that loses its leadership earlier has not ended the first one.
const failoversApart = 5000

// After returns the interruption that ends with f, if before was the last one until then and nothing was
// decided since.
func (f Failover) After(before *Failover) Failover {
	if before == nil || float64(f.AtMillis-before.AtMillis)-f.Millis >= failoversApart {
		return f
	}
	f.OldLeader, f.Millis, f.Elections = before.OldLeader, before.Millis+f.Millis, max(before.Elections, 1)+1
	return f
}

// Unreachable returns the members that do not answer.
func Unreachable(members []Member) (out []Member) {
	for _, m := range members {
		if m.State == "unreachable" {
			out = append(out, m)
		}
	}
	return out
}

// Missing says which of the voters that do not answer must be started so that there can be a leader, or "" if
// the others are a majority.
func Missing(voters int, silent []string) string {
	majority := voters/2 + 1
	missing := majority - (voters - len(silent))
	if missing <= 0 {
		return ""
	}
	text := fmt.Sprintf("a majority of %d is %d: start ", voters, majority)
	switch missing {
	case 1:
		return text + strings.Join(silent, " or ")
	case len(silent):
		return text + strings.Join(silent, " and ")
	}
	return text + fmt.Sprintf("%d of %s", missing, strings.Join(silent, ", "))
}

// Text describes the election for people. The same replica may lead again, after it was without a
// majority. Each replica measures how long it knew no leader itself, so the text names the one that did.
func (f Failover) Text(by string) string {
	text := f.NewLeader + " leads"
	switch f.OldLeader {
	case "":
	case f.NewLeader:
		text += " again"
	default:
		text += " in place of " + f.OldLeader
	}
	if f.Elections > 1 {
		text += fmt.Sprintf(" after %d elections", f.Elections)
	}
	return text + "; " + by + " knew no leader for " + f.Without()
}

// Without returns the time without a leader in words, such as 214 ms, 24.5 s or 1m30s.
func (f Failover) Without() string {
	switch {
	case f.Millis < 999.5:
		return fmt.Sprintf("%.0f ms", f.Millis)
	case f.Millis < 59_950:
		return fmt.Sprintf("%.1f s", f.Millis/1000)
	}
	return (time.Duration(f.Millis) * time.Millisecond).Round(time.Second).String()
}

// Totals counts the contents of the replicated state.
type Totals struct {
	Apps        int `json:"apps"`
	Running     int `json:"apps_running"`
	Waiting     int `json:"apps_waiting"` // SUBMITTED or ACCEPTED
	Ended       int `json:"apps_ended"`
	Nodes       int `json:"nodes"`
	UsableNodes int `json:"nodes_usable"` // alive; those that drain among them
	// DrainingNodes take no new containers and leave when theirs have ended. Their part of the
	// totals is only what is used there.
	DrainingNodes int   `json:"nodes_draining"`
	Containers    int64 `json:"containers"` // live ones
	Reservations  int   `json:"reservations"`
	Figures
}

// Members lists the replicas.
type Members struct {
	Members []Member `json:"members"`
}

// Member is one replica.
type Member struct {
	ID           string `json:"id"`
	Incarnation  string `json:"incarnation,omitempty"`
	Address      string `json:"address"`
	HTTPAddress  string `json:"http_address,omitempty"`
	HTTPSAddress string `json:"https_address,omitempty"` // of the TLS port, if there is one
	// Ports names the ports that the replica has opened for clients and nodes. Files has a digest of
	// each of Hadoop's files that it reads, without the keys that concern its machine only.
	Ports []string          `json:"ports,omitempty"`
	Files map[string]string `json:"files,omitempty"`
	// Witness is true if the replica keeps YARN's ports closed on purpose.
	Witness bool `json:"witness,omitempty"`

	Voter     bool   `json:"voter"`
	Pending   bool   `json:"pending,omitempty"` // a change of its membership is not committed yet
	Leader    bool   `json:"leader"`
	Role      string `json:"role"`  // leader, follower or candidate
	State     string `json:"state"` // alive, unreachable, or empty: it runs without data
	Term      uint64 `json:"term"`
	Commit    uint64 `json:"commit"`
	Applied   uint64 `json:"applied"`
	LastIndex uint64 `json:"last_index"`
	Lag       uint64 `json:"lag"` // entries behind the leader's commit index
	// LastContactMillis is the time since the replica last heard from the leader: 0 on the leader,
	// −1 if it never has.
	LastContactMillis int64  `json:"last_contact_ms"`
	Version           string `json:"version,omitempty"`
	Level             uint64 `json:"level"`
	DiskFree          uint64 `json:"disk_free,omitempty"` // in bytes
	DiskFull          bool   `json:"disk_full,omitempty"`
	// Problem is a problem that needs a person's attention, such as a full disk, a lack of file
	// descriptors, a disk that was restored to an older copy, or a background job that fails.
	Problem string `json:"problem,omitempty"`
	// Warning is what will become a problem if nobody acts, such as a certificate that ends soon.
	Warning string `json:"warning,omitempty"`
	// Stalled says why the replica makes no progress although it answers.
	Stalled string `json:"stalled,omitempty"`
	// Unreached has the replicas to which this one cannot open a new connection, which an election
	// needs, each with the reason.
	Unreached   map[string]string `json:"unreached,omitempty"`
	Digest      string            `json:"digest,omitempty"`
	DigestIndex uint64            `json:"digest_index,omitempty"`
}

// Verify compares the state digests of all replicas at one index.
type Verify struct {
	Index   uint64          `json:"index"`
	Equal   bool            `json:"equal"` // all replicas that were asked answered, with equal digests
	Digests []ReplicaDigest `json:"digests"`
}

// ReplicaDigest is the digest of one replica.
type ReplicaDigest struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitempty"`
	Error  string `json:"error,omitempty"`
}

// InitRequest creates a new cluster from the replica that gets the request. Properties is the first
// queue configuration. Without it the replica uses its own files.
type InitRequest struct {
	ClusterID  string            `json:"cluster_id,omitempty"` // default: a random one
	Properties map[string]string `json:"properties,omitempty"`
	DryRun     bool              `json:"dry_run,omitempty"`
}

type InitReply struct {
	ClusterID string `json:"cluster_id"`
	Name      string `json:"name,omitempty"` // of the cluster
	ID        string `json:"id"`
	Address   string `json:"address"`
	DryRun    bool   `json:"dry_run,omitempty"`
}

// JoinRequest makes the replica that gets the request join the cluster of the replicas at Leaders,
// which are peer addresses.
type JoinRequest struct {
	Leaders []string `json:"leaders"`
	Token   string   `json:"token,omitempty"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// JoinReply names the cluster. Voter is true if the token was for a voter; autopilot then promotes
// the replica.
type JoinReply struct {
	ClusterID string `json:"cluster_id"`
	Name      string `json:"name,omitempty"` // of the cluster
	ID        string `json:"id"`
	Voter     bool   `json:"voter"`
	DryRun    bool   `json:"dry_run,omitempty"`
}

// TransferRequest transfers the leadership to a replica, or without an id to the most suitable one.
type TransferRequest struct {
	ID string `json:"id,omitempty"`
}

// MemberRequest has the options of promote (MaxLag), demote and remove (Force).
type MemberRequest struct {
	MaxLag uint64 `json:"max_lag,omitempty"` // of promote; 0 means 100
	Force  bool   `json:"force,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// MemberChange answers promote, demote and remove. After a dry run, After is the verdict that the
// change would lead to.
type MemberChange struct {
	Index uint64   `json:"index"`
	After *Verdict `json:"after,omitempty"`
}

// TokenRequest makes a join token.
type TokenRequest struct {
	Role string   `json:"role"`          // voter or nonvoter
	TTL  Duration `json:"ttl,omitempty"` // default 1h; at most 24h
}

// Token is a join token. Only this answer contains it.
type Token struct {
	Token         string `json:"token"`
	Role          string `json:"role"`
	ExpiresMillis int64  `json:"expires_ms"`
}

// Autopilot has the settings of the automatic care of replicas.
type Autopilot struct {
	CleanupDeadServers             bool     `json:"cleanup_dead_servers"`
	DeadServerLastContactThreshold Duration `json:"dead_server_last_contact_threshold"`
	MinQuorum                      uint     `json:"min_quorum"`
	LastContactThreshold           Duration `json:"last_contact_threshold"`
	MaxTrailingLogs                uint64   `json:"max_trailing_logs"`
	ServerStabilizationTime        Duration `json:"server_stabilization_time"`
}

// AutopilotState has the settings in force, and autopilot's judgment of the replicas.
type AutopilotState struct {
	Settings         Autopilot       `json:"settings"`
	Healthy          bool            `json:"healthy"`
	FailureTolerance int             `json:"failure_tolerance"`
	Servers          []ServerVerdict `json:"servers"`
}

// ServerVerdict is autopilot's judgment of one replica.
type ServerVerdict struct {
	ID                string `json:"id"`
	Healthy           bool   `json:"healthy"`
	Voter             bool   `json:"voter"`
	StableSinceMillis int64  `json:"stable_since_ms,omitempty"`
	Why               string `json:"why,omitempty"`
}

// Upgrade has the feature level in force, the highest available one, and the versions of the
// replicas.
type Upgrade struct {
	Level     uint32            `json:"level"`
	Available uint32            `json:"available"` // the highest level that all voters know
	Versions  map[string]string `json:"versions"`  // by replica
	TurnsOn   []string          `json:"turns_on,omitempty"`
}

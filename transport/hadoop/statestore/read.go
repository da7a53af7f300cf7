package statestore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
)

// Limits of what is read.
const (
	maxZnodes   = 2_000_000
	maxZnode    = 16 << 20 // in bytes; ZooKeeper's own default is 1 MB
	maxProblems = 1000
	maxEpoch    = 1<<23 - 1 // a container id has 63 bits, 40 of them for the container's number
)

// The newest layout that this build can read.
const (
	majorVersion = 1
	minorVersion = 5
)

// Names of znodes, from the constants of ZKRMStateStore.
const (
	rootNode         = "ZKRMStateRoot"
	versionNode      = "RMVersionNode"
	epochNode        = "EpochNode"
	appRoot          = "RMAppRoot"
	hierarchies      = "HIERARCHIES"
	amrmRoot         = "AMRMTokenSecretManagerRoot"
	delegationRoot   = "RMDTSecretManagerRoot"
	sequenceNode     = "RMDTSequentialNumber"
	delegationKeys   = "RMDTMasterKeysRoot"
	delegationTokens = "RMDelegationTokensRoot"
	reservationRoot  = "ReservationSystemRoot"
	appPrefix        = "application_"
	attemptPrefix    = "appattempt_"
	keyPrefix        = "DelegationKey_"
	tokenPrefix      = "RMDelegationToken_"
)

// Tree reads znodes of ZooKeeper.
type Tree interface {
	// Get returns the data of a znode. ok is false if there is no such znode.
	Get(path string) (data []byte, ok bool, err error)
	// Children returns the names of the znodes below a path. It returns none if the path does not
	// exist.
	Children(path string) ([]string, error)
}

// Read reads the store below parent (yarn.resourcemanager.zk-state-store.parent-path). Unreadable
// parts become Problems in the Store. It returns an error if ZooKeeper fails, if there is no store,
// or if the store exceeds the limits.
func Read(t Tree, parent string) (*Store, error) {
	r := &reader{tree: t, root: path.Join("/", parent, rootNode), store: &Store{}}
	for _, step := range []func() error{r.version, r.epoch, r.applications, r.amrm, r.delegation, r.reservations} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.store.Applications, func(a, b Application) int {
		return cmp.Or(cmp.Compare(a.ID.ClusterTimestamp, b.ID.ClusterTimestamp), cmp.Compare(a.ID.Seq, b.ID.Seq))
	})
	return r.store, nil
}

// reader reads one store.
type reader struct {
	tree   Tree
	root   string
	store  *Store
	znodes int
}

// problem records a part that cannot be read. It returns an error if there are too many.
func (r *reader) problem(name, do, format string, args ...any) error {
	r.store.Problems = append(r.store.Problems, Problem{Name: name, What: fmt.Sprintf(format, args...), Do: do})
	if len(r.store.Problems) > maxProblems {
		return fmt.Errorf("%s has more than %d problems", r.root, maxProblems)
	}
	return nil
}

// get reads a znode. parts is its path below the root.
func (r *reader) get(parts ...string) ([]byte, bool, error) {
	at := path.Join(append([]string{r.root}, parts...)...)
	b, ok, err := r.tree.Get(at)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", at, err)
	}
	r.znodes++
	switch {
	case len(b) > maxZnode:
		return nil, false, fmt.Errorf("%s has %d bytes; at most %d are read", at, len(b), maxZnode)
	case r.znodes > maxZnodes:
		return nil, false, fmt.Errorf("%s has more than %d znodes", r.root, maxZnodes)
	}
	return b, ok, nil
}

// children returns the names of the znodes below a path, sorted.
func (r *reader) children(parts ...string) ([]string, error) {
	at := path.Join(append([]string{r.root}, parts...)...)
	names, err := r.tree.Children(at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if r.znodes += len(names); r.znodes > maxZnodes {
		return nil, fmt.Errorf("%s has more than %d znodes", r.root, maxZnodes)
	}
	slices.Sort(names)
	return names, nil
}

func (r *reader) version() error {
	b, ok, err := r.get(versionNode)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("there is no %s/%s: this is not the state store of a ResourceManager", r.root, versionNode)
	}
	var v proto.VersionProto
	if err := bounded.Unmarshal(b, &v); err != nil {
		return r.problem(versionNode, "check the path of the state store", "its version cannot be read: %v", err)
	}
	r.store.Version = fmt.Sprintf("%d.%d", v.GetMajorVersion(), v.GetMinorVersion())
	if v.GetMajorVersion() != majorVersion || v.GetMinorVersion() > minorVersion {
		return r.problem(versionNode, "use an rmd that knows this version",
			"the state store has version %s; this rmd reads %d.0 to %d.%d",
			r.store.Version, majorVersion, majorVersion, minorVersion)
	}
	return nil
}

func (r *reader) epoch() error {
	b, ok, err := r.get(epochNode)
	if err != nil || !ok {
		return err
	}
	var p proto.EpochProto
	if err := bounded.Unmarshal(b, &p); err != nil {
		return r.problem(epochNode, "check the state store", "the epoch is not readable: %v", err)
	}
	if p.GetEpoch() < 0 || p.GetEpoch() > maxEpoch {
		return r.problem(epochNode, "check the state store", "the epoch is %d; it must be from 0 to %d",
			p.GetEpoch(), maxEpoch)
	}
	r.store.Epoch = uint32(p.GetEpoch())
	return nil
}

// splits calls f for each znode of a hierarchy: those with a name directly below root, and those
// whose name is split into two parts below split/INDEX.
func (r *reader) splits(prefix string, root, split []string, f func(name string, at []string) error) error {
	names, err := r.children(root...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := f(name, join(root, name)); err != nil {
				return err
			}
		}
	}
	for index := 1; index <= 4; index++ {
		at := join(split, fmt.Sprint(index))
		heads, err := r.children(at...)
		if err != nil {
			return err
		}
		for _, head := range heads {
			if !strings.HasPrefix(head, prefix) {
				continue
			}
			tails, err := r.children(join(at, head)...)
			if err != nil {
				return err
			}
			for _, tail := range tails {
				if err := f(head+tail, join(at, head, tail)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// join appends to a copy of at.
func join(at []string, more ...string) []string { return append(slices.Clone(at), more...) }

func (r *reader) applications() error {
	return r.splits(appPrefix, []string{appRoot}, []string{appRoot, hierarchies}, r.application)
}

func (r *reader) application(name string, at []string) error {
	b, ok, err := r.get(at...)
	if err != nil {
		return err
	}
	if !ok { // it was removed after its name was listed
		return nil
	}
	app, err := decodeApplication(name, b)
	if err != nil {
		return r.problem(name, skipOrKill, "%v", err)
	}
	attempts, err := r.children(at...)
	if err != nil {
		return err
	}
	for _, attempt := range attempts {
		if !strings.HasPrefix(attempt, attemptPrefix) {
			continue
		}
		b, _, err := r.get(join(at, attempt)...)
		if err != nil {
			return err
		}
		a, err := decodeAttempt(app.ID, attempt, b)
		if err != nil {
			return r.problem(name, skipOrKill, "%s: %v", attempt, err)
		}
		app.Attempts = append(app.Attempts, a)
	}
	slices.SortFunc(app.Attempts, func(a, b Attempt) int { return cmp.Compare(a.Number, b.Number) })
	r.store.Applications = append(r.store.Applications, app)
	return nil
}

const skipOrKill = "end it before the Java ResourceManagers stop, or leave it out with --skip"

func (r *reader) amrm() error {
	b, ok, err := r.get(amrmRoot)
	if err != nil || !ok || len(b) == 0 {
		return err
	}
	keys, err := decodeAMRM(b)
	if err != nil {
		return r.problem(amrmRoot, "check the state store", "%v", err)
	}
	r.store.AMRM = keys
	return nil
}

func (r *reader) delegation() error {
	b, ok, err := r.get(delegationRoot, sequenceNode)
	if err != nil {
		return err
	}
	if ok && len(b) >= 4 {
		r.store.Sequence = binary.BigEndian.Uint32(b)
	}
	names, err := r.children(delegationRoot, delegationKeys)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.delegationKey(name); err != nil {
			return err
		}
	}
	slices.SortFunc(r.store.DelegationKeys, func(a, b Key) int { return cmp.Compare(a.ID, b.ID) })
	root := []string{delegationRoot, delegationTokens}
	if err := r.splits(tokenPrefix, root, root, r.delegationToken); err != nil {
		return err
	}
	slices.SortFunc(r.store.DelegationTokens,
		func(a, b DelegationToken) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return nil
}

func (r *reader) delegationKey(name string) error {
	if !strings.HasPrefix(name, keyPrefix) {
		return nil
	}
	b, ok, err := r.get(delegationRoot, delegationKeys, name)
	if err != nil || !ok {
		return err
	}
	key, err := decodeDelegationKey(b)
	if err != nil {
		return r.problem(name, "leave it out with --skip: tokens that it signed end", "%v", err)
	}
	if len(key.Bytes) > 0 { // an expired key may have no secret
		r.store.DelegationKeys = append(r.store.DelegationKeys, key)
	}
	return nil
}

func (r *reader) delegationToken(name string, at []string) error {
	b, ok, err := r.get(at...)
	if err != nil || !ok {
		return err
	}
	t, err := decodeDelegationToken(b)
	if err != nil {
		return r.problem(name, "leave it out with --skip: its owner gets a new one", "%v", err)
	}
	r.store.DelegationTokens = append(r.store.DelegationTokens, t)
	return nil
}

// reservations records a problem for each reservation of YARN's ReservationSystem.
func (r *reader) reservations() error {
	plans, err := r.children(reservationRoot)
	if err != nil {
		return err
	}
	for _, plan := range plans {
		names, err := r.children(reservationRoot, plan)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.problem(name, "delete it before the Java ResourceManagers stop, or leave it out with --skip",
				"it is a reservation in plan %s; rmd has no reservation system of YARN's kind", plan); err != nil {
				return err
			}
		}
	}
	return nil
}

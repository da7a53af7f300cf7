package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rmd/jepsen-lite/harness"
)

// Certificates returns the faults of certificates that end while their replicas run.
func Certificates() []Fault {
	return []Fault{
		{Name: "certificate-ends", Kind: harness.Certs,
			Text: "the certificate of one replica ends; it is killed, refuses to start, and gets a new one", Hold: seconds(0, 2),
			Inject: certificateEnds},
		{Name: "certificates-end", Kind: harness.Certs,
			Text: "the certificates of all replicas end, the leader is killed, and all get new ones", Hold: seconds(0, 2),
			Inject: certificatesEnd},
	}
}

const (
	// endsSoon is how long a certificate that ends during a fault is valid. A replica does not take one
	// that has ended before it reads it.
	endsSoon = 6 * time.Second
	// validFor is how long others are valid.
	validFor = 2 * 365 * 24 * time.Hour
)

// exitConfig is the exit code of a replica that refuses its configuration.
const exitConfig = 2

// certificateEnds lets the certificate of one replica end. Health must say so, and the others must
// serve, also callers who name that replica first. It is then killed, and must refuse to start.
func certificateEnds(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	heal := func(ctx context.Context) error { return errors.Join(e.certify(validFor, r), e.back(ctx, r)) }
	if err := errors.Join(e.certify(endsSoon, r), r.Reload()); err != nil {
		return heal, err
	}
	sleep(ctx, endsSoon)
	e.tells(ctx, "its certificate expired on ", r)
	e.servedPast(ctx, r)
	if err := errors.Join(r.Kill(), r.Start()); err != nil {
		return heal, err
	}
	r.Expect()
	return heal, e.awaitFatalExit(ctx, r, startsWithin, exitConfig)
}

// certificatesEnd lets all certificates end. Old connections go on, but nobody could be elected:
// every replica must say so. Then the leader is killed.
func certificatesEnd(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.moment.OnLeader = true
	e.recordVictims("%s, and %s is killed", voters, names(voters), leader.ID)
	heal := func(ctx context.Context) error {
		return errors.Join(e.certify(validFor, voters...), e.back(ctx, voters...))
	}
	err := e.certify(endsSoon, voters...)
	for _, r := range voters {
		err = errors.Join(err, r.Reload())
	}
	if err != nil {
		return heal, err
	}
	sleep(ctx, endsSoon)
	e.tells(ctx, "its certificate expired on ", voters...)
	return heal, leader.Kill()
}

// certify gives replicas certificates that are valid for a time from now on.
func (e *Env) certify(valid time.Duration, of ...*harness.Replica) error {
	var errs []error
	for _, r := range of {
		errs = append(errs, e.Cluster.Certify(r, time.Now().Add(valid)))
	}
	return errors.Join(errs...)
}

// back starts replicas that do not run, waits until all take part, and until no replica names a
// certificate as a problem.
func (e *Env) back(ctx context.Context, of ...*harness.Replica) error {
	for _, r := range of {
		if err := r.Start(); err != nil {
			return err
		}
	}
	for _, r := range of {
		if err := e.awaitBack(ctx, r); err != nil {
			return err
		}
	}
	var said []string
	err := await(ctx, "no problem with certificates", healWithin, func() bool {
		said = e.problems(ctx, of[0])
		return said != nil && !slices.ContainsFunc(said, func(p string) bool {
			return strings.Contains(p, "certificate") || strings.Contains(p, "new connection")
		})
	})
	if err != nil {
		return fmt.Errorf("%w; %s says %q", err, of[0].ID, said)
	}
	return nil
}

// problems returns the problems of the cluster, as a replica lists them. It is nil if the replica
// does not answer.
func (e *Env) problems(ctx context.Context, r *harness.Replica) []string {
	doc, err := e.Cluster.Facts(ctx, r)
	if err != nil {
		return nil
	}
	return append([]string{}, doc.Verdict.Problems...)
}

// toldWithin is how long the replicas may take to say what is wrong with one of them.
const toldWithin = 20 * time.Second

// tells waits until a replica says that each of these has a problem that begins in a way. It may be
// the replica itself: an earlier fault may have broken its connections, and it gets no new ones.
func (e *Env) tells(ctx context.Context, problem string, of ...*harness.Replica) {
	for _, r := range of {
		var said []string
		told := func(p string) bool { return strings.HasPrefix(p, r.ID+": "+problem) }
		err := await(ctx, "a replica tells", toldWithin, func() bool {
			for _, q := range e.Cluster.Voters() {
				if said = e.problems(ctx, q); slices.ContainsFunc(said, told) {
					return true
				}
			}
			return false
		})
		if err != nil {
			e.violated("health", "nobody says within %s of %s: %q; the last one lists %q", toldWithin, e.moment.Fault,
				r.ID+": "+problem, said)
		}
	}
}

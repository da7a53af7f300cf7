package statestore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
)

// Config is the location of a state store.
type Config struct {
	Servers []string // HOST:PORT
	Parent  string   // yarn.resourcemanager.zk-state-store.parent-path
	// Auths are credentials, for instance {"digest", "user:password"}.
	Auths []Auth
	// Login logs in to each server (SASL). It may be nil.
	Login Login
	// Election is the znode in which the ResourceManagers elect the active one. It is empty if
	// there is only one ResourceManager.
	Election string
}

// Auth is a credential for ZooKeeper.
type Auth struct{ Scheme, Credentials string }

// sessionTimeout is the timeout of the session with ZooKeeper.
const sessionTimeout = 10 * time.Second

// electionLock is the name of the znode that the active ResourceManager creates.
const electionLock = "ActiveStandbyElectorLock"

// ActiveError means that a ResourceManager uses the store.
type ActiveError struct{ What string }

func (e *ActiveError) Error() string { return e.What }

// Take reads a store, until ctx ends. It returns an *ActiveError if a ResourceManager uses the
// store. It changes nothing in ZooKeeper.
func Take(ctx context.Context, cfg Config) (*Store, error) {
	g := &guards{left: maxBytes, login: cfg.Login}
	s, err := take(ctx, cfg, g)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("ZooKeeper at %v has not sent the whole state store in time: %w", cfg.Servers, context.Cause(ctx))
	}
	return s, g.because(err)
}

func take(ctx context.Context, cfg Config, g *guards) (*Store, error) {
	z, err := connect(ctx, cfg, g)
	if err != nil {
		return nil, err
	}
	defer z.close()
	if err := z.notActive(cfg.Election); err != nil {
		return nil, err
	}
	root := path.Join("/", cfg.Parent, rootNode)
	before, err := z.changes(root)
	if err != nil {
		return nil, err
	}
	s, err := Read(z, cfg.Parent)
	if err != nil {
		return nil, err
	}
	after, err := z.changes(root)
	if err != nil {
		return nil, err
	}
	if before != after {
		return nil, &ActiveError{"a ResourceManager wrote to " + root + " while it was read"}
	}
	return s, z.notActive(cfg.Election)
}

// zookeeper is a session with ZooKeeper.
type zookeeper struct {
	ctx  context.Context
	conn *zk.Conn
	stop func() bool // ends the watch for the end of ctx
}

// errNoSession stands for a session that has not begun yet.
var errNoSession = errors.New("no session")

// connect begins a session. The end of ctx ends every wait for an answer. The caller must call close.
func connect(ctx context.Context, cfg Config, g *guards) (*zookeeper, error) {
	conn, events, err := zk.Connect(cfg.Servers, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(maxReply), zk.WithDialer(g.dial))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper at %v: %w", cfg.Servers, err)
	}
	z := &zookeeper{ctx, conn, context.AfterFunc(ctx, conn.Close)}
	if err := z.begin(cfg, events, g); err != nil {
		z.close()
		return nil, err
	}
	return z, nil
}

func (z *zookeeper) close() {
	z.stop()
	z.conn.Close()
}

// begin waits for the session and adds the credentials.
func (z *zookeeper) begin(cfg Config, events <-chan zk.Event, g *guards) error {
	for begun := false; !begun; {
		select {
		case e := <-events:
			begun = e.State == zk.StateHasSession
			if e.State == zk.StateAuthFailed {
				return fmt.Errorf("ZooKeeper at %v: %w", cfg.Servers, zk.ErrAuthFailed)
			}
			if err := g.because(errNoSession); !begun && err != errNoSession {
				return err
			}
		case <-z.ctx.Done():
			return fmt.Errorf("ZooKeeper at %v does not answer: %w", cfg.Servers, context.Cause(z.ctx))
		}
	}
	for _, a := range cfg.Auths {
		if err := z.conn.AddAuth(a.Scheme, []byte(a.Credentials)); err != nil {
			return fmt.Errorf("ZooKeeper refuses the %s credentials: %w", a.Scheme, err)
		}
	}
	return nil
}

// notActive returns an *ActiveError if the ResourceManagers have elected an active one.
func (z *zookeeper) notActive(election string) error {
	if election == "" {
		return nil
	}
	at := path.Join(election, electionLock)
	b, held, err := z.Get(at)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if !held {
		return nil
	}
	var p proto.ActiveRMInfoProto
	if bounded.Unmarshal(b, &p) != nil || p.GetRmId() == "" {
		return &ActiveError{"a ResourceManager is active: it holds " + at}
	}
	return &ActiveError{fmt.Sprintf("ResourceManager %s is active: it holds %s", p.GetRmId(), at)}
}

// changes returns a number that changes with every write of a ResourceManager. Each write creates
// and deletes a znode below the root, the fencing lock.
func (z *zookeeper) changes(root string) (int64, error) {
	ok, stat, err := z.conn.Exists(root)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", root, err)
	}
	if !ok {
		return 0, fmt.Errorf("there is no %s in ZooKeeper: this is not the parent path of a state store", root)
	}
	return stat.Pzxid, nil
}

// Get implements Tree.
func (z *zookeeper) Get(path string) ([]byte, bool, error) {
	if err := z.ctx.Err(); err != nil {
		return nil, false, err
	}
	b, _, err := z.conn.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return b, err == nil, err
}

// Children implements Tree.
func (z *zookeeper) Children(path string) ([]string, error) {
	if err := z.ctx.Err(); err != nil {
		return nil, err
	}
	names, _, err := z.conn.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// silent discards the log of the client library.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}

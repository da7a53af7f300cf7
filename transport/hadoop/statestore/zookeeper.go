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

// Take reads a store. It returns an *ActiveError if a ResourceManager uses the store. It changes
// nothing in ZooKeeper.
func Take(ctx context.Context, cfg Config) (*Store, error) {
	g := &guards{}
	s, err := take(ctx, cfg, g)
	return s, g.because(err)
}

func take(ctx context.Context, cfg Config, g *guards) (*Store, error) {
	z, err := connect(ctx, cfg, g)
	if err != nil {
		return nil, err
	}
	defer z.conn.Close()
	defer context.AfterFunc(ctx, z.conn.Close)()
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
}

// errNoSession stands for a session that has not begun yet.
var errNoSession = errors.New("no session")

func connect(ctx context.Context, cfg Config, g *guards) (*zookeeper, error) {
	conn, events, err := zk.Connect(cfg.Servers, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxReply), zk.WithDialer(g.dial))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper at %v: %w", cfg.Servers, err)
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateAuthFailed {
				conn.Close()
				return nil, fmt.Errorf("ZooKeeper at %v: %w", cfg.Servers, zk.ErrAuthFailed)
			}
			if e.State != zk.StateHasSession {
				if err := g.because(errNoSession); err != errNoSession {
					conn.Close()
					return nil, err
				}
				continue
			}
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("ZooKeeper at %v does not answer: %w", cfg.Servers, context.Cause(ctx))
		}
		break
	}
	for _, a := range cfg.Auths {
		if err := conn.AddAuth(a.Scheme, []byte(a.Credentials)); err != nil {
			conn.Close()
			return nil, fmt.Errorf("ZooKeeper refuses the %s credentials: %w", a.Scheme, err)
		}
	}
	return &zookeeper{ctx, conn}, nil
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

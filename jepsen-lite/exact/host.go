package exact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// Program is a compiled guest: a Go test binary for wasip1.
type Program struct {
	rt    wazero.Runtime
	cache wazero.CompilationCache
	code  wazero.CompiledModule
	runs  atomic.Int64
}

// Load compiles a guest to machine code, or finds that in the cache folder.
func Load(ctx context.Context, path, cache string) (*Program, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read guest: %w", err)
	}
	c, err := wazero.NewCompilationCacheWithDir(cache)
	if err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	p := &Program{cache: c, rt: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(c))}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.rt); err != nil {
		return nil, errors.Join(fmt.Errorf("host functions: %w", err), p.Close(ctx))
	}
	if p.code, err = p.rt.CompileModule(ctx, b); err != nil {
		return nil, errors.Join(fmt.Errorf("compile guest: %w", err), p.Close(ctx))
	}
	return p, nil
}

// Close ends all that a program has.
func (p *Program) Close(ctx context.Context) error {
	return errors.Join(p.rt.Close(ctx), p.cache.Close(ctx))
}

// Call is what a guest is started with.
type Call struct {
	// Args are the test binary's, without its name; Env is KEY=VALUE in pairs.
	Args []string
	Env  [][2]string
	// Schedule is what all randomness of the guest is drawn from.
	Schedule int64
	// Within is how much real time it may take; 0 is no limit.
	Within time.Duration
}

// Ran is what a guest did.
type Ran struct {
	Exit   uint32
	Output []byte
	// Hash sums up the output, how often the clock was read and how much randomness was
	// drawn. Two runs that are scheduled differently read the clock differently often.
	Hash  string
	Looks int64 // at the clock
	Real  time.Duration
}

// ErrTooLong says that a guest was ended because its time was over.
var ErrTooLong = errors.New("the run takes too long")

// tick is how far the guest's clock moves when it is looked at. Nothing else moves
// it: so it shows the same in every run.
const tick = 100 * time.Nanosecond

// epoch is when every guest begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is all that a guest can learn of what is outside of it.
type world struct {
	now   time.Duration // since epoch
	looks int64
	drawn int64
	rng   *rand.Rand
	until time.Time // real; zero for no limit
	over  bool      // it has been ended for that
}

// look reads the clock. This is also where a run that takes too long is ended, since
// Go's scheduler cannot do without.
func (w *world) look() int64 {
	w.now += tick
	w.looks++
	if w.looks%1024 == 0 && !w.until.IsZero() && time.Now().After(w.until) {
		w.over = true
		panic(ErrTooLong) // the host turns it into the call's error
	}
	return int64(w.now)
}

// wall is the same clock with a date.
func (w *world) wall() (sec int64, nsec int32) {
	t := epoch.Add(time.Duration(w.look()))
	return t.Unix(), int32(t.Nanosecond())
}

// sleep is over at once: only the clock moves.
func (w *world) sleep(ns int64) { w.now += time.Duration(max(ns, 0)) }

// Read is the guest's source of randomness.
func (w *world) Read(b []byte) (int, error) {
	w.drawn += int64(len(b))
	return w.rng.Read(b)
}

// Run runs a guest from its first to its last instruction, on this goroutine.
func (p *Program) Run(ctx context.Context, c Call) (r Ran, err error) {
	begin := time.Now()
	w := &world{rng: rand.New(rand.NewSource(c.Schedule))}
	if c.Within > 0 {
		w.until = begin.Add(c.Within)
	}
	var out bytes.Buffer
	res := sys.ClockResolution(1)
	conf := wazero.NewModuleConfig().WithName(fmt.Sprint("run", p.runs.Add(1))).WithArgs(append([]string{"sim.test"}, c.Args...)...).
		WithStdout(&out).WithStderr(&out).WithRandSource(w).
		WithNanotime(w.look, res).WithWalltime(w.wall, res).WithNanosleep(w.sleep).WithOsyield(func() {})
	for _, e := range c.Env {
		conf = conf.WithEnv(e[0], e[1])
	}
	err = p.start(ctx, conf)
	r = Ran{Output: out.Bytes(), Looks: w.looks, Real: time.Since(begin)}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %d %d\n", w.looks, w.now, w.drawn) // it never fails
	_, _ = h.Write(r.Output)
	r.Hash = hex.EncodeToString(h.Sum(nil)[:12])
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		r.Exit, err = exit.ExitCode(), nil
	}
	if w.over {
		err = fmt.Errorf("%w: more than %s", ErrTooLong, c.Within)
	}
	return r, err
}

// start runs a module to its end.
func (p *Program) start(ctx context.Context, conf wazero.ModuleConfig) (err error) {
	mod, err := p.rt.InstantiateModule(ctx, p.code, conf)
	if mod != nil {
		err = errors.Join(err, mod.Close(ctx))
	}
	return err
}

var _ io.Reader = (*world)(nil)

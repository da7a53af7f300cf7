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

// Load compiles a guest to machine code, or takes that from the cache folder.
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

// Close releases the program's resources.
func (p *Program) Close(ctx context.Context) error {
	return errors.Join(p.rt.Close(ctx), p.cache.Close(ctx))
}

// Call has the arguments of a guest.
type Call struct {
	// Args are those of the test binary, without its name. Env has pairs of name and value.
	Args []string
	Env  [][2]string
	// Schedule is the seed of all randomness in the guest.
	Schedule int64
	// Within limits the real time of the run; 0 means no limit.
	Within time.Duration
}

// Ran is the result of a guest.
type Ran struct {
	Exit   uint32
	Output []byte
	// Hash is a hash of the output, of how often the clock was read, and of how much randomness was
	// used. Two runs with different schedules also differ in how often they read the clock.
	Hash  string
	Looks int64 // number of clock readings
	Real  time.Duration
}

// ErrTooLong means that a guest was stopped because it exceeded Call.Within.
var ErrTooLong = errors.New("the run takes too long")

// tick is how far the guest's clock advances with each reading. Otherwise only sleeping advances
// it, so the clock shows the same times in every run.
const tick = 100 * time.Nanosecond

// epoch is the time at which every guest starts.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is everything that a guest can see of its environment.
type world struct {
	now   time.Duration // since epoch
	looks int64
	drawn int64
	rng   *rand.Rand
	until time.Time // in real time; zero means no limit
	over  bool      // the guest was stopped because of until
}

// readClock reads the clock. It stops a run that takes too long, because Go's scheduler reads the
// clock all the time.
func (w *world) readClock() int64 {
	w.now += tick
	w.looks++
	if w.looks%1024 == 0 && !w.until.IsZero() && time.Now().After(w.until) {
		w.over = true
		panic(ErrTooLong) // the host turns it into the call's error
	}
	return int64(w.now)
}

// wall returns the same clock as a date.
func (w *world) wall() (sec int64, nsec int32) {
	t := epoch.Add(time.Duration(w.readClock()))
	return t.Unix(), int32(t.Nanosecond())
}

// sleep returns at once and advances the clock.
func (w *world) sleep(ns int64) { w.now += time.Duration(max(ns, 0)) }

// Read implements io.Reader. It is the guest's source of randomness.
func (w *world) Read(b []byte) (int, error) {
	w.drawn += int64(len(b))
	return w.rng.Read(b)
}

// Run runs a guest to its end, on the calling goroutine.
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
		WithNanotime(w.readClock, res).WithWalltime(w.wall, res).WithNanosleep(w.sleep).WithOsyield(func() {})
	for _, e := range c.Env {
		conf = conf.WithEnv(e[0], e[1])
	}
	err = p.start(ctx, conf)
	r = Ran{Output: out.Bytes(), Looks: w.looks, Real: time.Since(begin)}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %d %d\n", w.looks, w.now, w.drawn) // a hash never fails
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

package cluster

import (
	"context"
	"errors"
	"reflect"

	"github.com/hashicorp/raft"
)

// Work-around W6: futures without an end (v1.8.0, future.go: deferError; api.go: Shutdown).
//
// Library: it never answers futures that sit in its queues when it shuts down. A caller
// that waits for one waits for ever.
// Guard: every future has a field, ShutdownCh, that most leave nil. await sets it.
// Test: TestStopOn, which holds that this works with the pinned version.
// Delete when: Shutdown answers every future.

// await waits for one of the library's futures, for ctx and for the end of the instance.
func (in *instance) await(ctx context.Context, f raft.Future) error {
	stop := make(chan struct{})
	merged, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.ctx, cancel)()
	defer context.AfterFunc(merged, func() { close(stop) })()
	if !stopOn(f, stop) {
		return f.Error()
	}
	err := f.Error()
	if errors.Is(err, raft.ErrRaftShutdown) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stopOn makes a future end with raft.ErrRaftShutdown when stop is closed. It sets the field before
// the one goroutine that waits reads it. Errors that are no real futures have no such field.
func stopOn(f raft.Future, stop chan struct{}) bool {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	field := v.Elem().FieldByName("ShutdownCh")
	if !field.IsValid() || !field.CanSet() || field.Type() != reflect.TypeFor[chan struct{}]() {
		return false
	}
	field.Set(reflect.ValueOf(stop))
	return true
}

// enqueued says that raft took what the future stands for; otherwise it is a bare error.
func enqueued(f raft.Future) bool { return reflect.ValueOf(f).Kind() == reflect.Pointer }

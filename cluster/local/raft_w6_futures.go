package local

import (
	"context"
	"errors"
	"reflect"

	"github.com/hashicorp/raft"
)

// Work-around W6: futures that never end (v1.8.0, future.go: deferError; api.go: Shutdown).
//
// Library: it does not answer the futures in its queues when it shuts down. A caller that waits for
// one waits forever.
// Guard: every future has a field ShutdownCh, which is nil for most. await sets it.
// Test: TestStopOn, which checks that this works with the library's current version.
// Delete when: Shutdown answers every future.

// Await waits for a future until ctx or the instance ends.
func (in *Instance) Await(ctx context.Context, f raft.Future) error {
	stop := make(chan struct{})
	merged, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.Context, cancel)()
	defer context.AfterFunc(merged, func() { close(stop) })()
	if !StopOn(f, stop) {
		return f.Error()
	}
	err := f.Error()
	if errors.Is(err, raft.ErrRaftShutdown) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// StopOn makes a future end with raft.ErrRaftShutdown when stop is closed. It sets the field before
// the future's only waiter reads it. It returns false for values without this field, such as the
// library's error futures.
func StopOn(f raft.Future, stop chan struct{}) bool {
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

// Enqueued reports whether raft accepted the request. Otherwise the library returns an error value
// instead of a pointer.
func Enqueued(f raft.Future) bool { return reflect.ValueOf(f).Kind() == reflect.Pointer }

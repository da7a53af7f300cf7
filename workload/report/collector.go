package report

import (
	"errors"
	"fmt"
	"time"
)

// ErrOutOfOrder means that the collector got events in an impossible order.
var ErrOutOfOrder = errors.New("out of order")

// Resource is the size of a container, a node or a cluster.
type Resource struct {
	MemoryMB int64 `json:"memoryMB"`
	VCores   int64 `json:"vcores"`
	GPUs     int64 `json:"gpus"`
}

// DominantShare returns the largest share of a resource of whole that r takes. It ignores resources
// of which whole has nothing.
func (r Resource) DominantShare(whole Resource) float64 {
	return max(share(r.MemoryMB, whole.MemoryMB), share(r.VCores, whole.VCores), share(r.GPUs, whole.GPUs))
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Unset is the value of a time that has not come yet.
const Unset int64 = -1

// Container is what is known about one container. Times are virtual milliseconds.
type Container struct {
	ID              string   `json:"id"`
	Queue           string   `json:"queue"`
	Size            Resource `json:"size"`
	Large           bool     `json:"large"`
	AskedMillis     int64    `json:"askedMillis"`
	AllocatedMillis int64    `json:"allocatedMillis"`
	FinishedMillis  int64    `json:"finishedMillis"`
}

// Sample is the utilization of the cluster at one time. ReservedIdle are the free resources on
// reserved nodes that are kept for the reservation.
type Sample struct {
	AtMillis     int64
	Capacity     Resource
	Used         Resource
	Reserved     Resource
	ReservedIdle Resource
}

// Run describes the replay in the first line of the text.
type Run struct {
	Apps        int           `json:"apps"`
	Nodes       int           `json:"nodes"`
	Seed        int64         `json:"seed"`
	TraceMillis int64         `json:"traceMillis"`
	Elapsed     time.Duration `json:"elapsedNanos"`
}

// Collector collects the data of one replay. It is not safe for concurrent use.
type Collector struct {
	node       Resource
	run        Run
	containers []Container
	byID       map[string]int
	samples    []Sample
	made       int64
	moved      int64
	fulfilled  int64
	cancelled  map[string]int64
	last       int64 // the latest time of all events
}

// NewCollector returns a collector. node is the largest node of the replay; it determines which
// containers are large.
func NewCollector(node Resource) *Collector {
	return &Collector{node: node, byID: map[string]int{}, cancelled: map[string]int64{}}
}

// Describe sets the description of the replay.
func (c *Collector) Describe(run Run) { c.run = run }

// Asked records a request for a container. The caller chooses the id.
func (c *Collector) Asked(id, queue string, size Resource, atMillis int64) error {
	if _, twice := c.byID[id]; twice {
		return fmt.Errorf("container %s asked for twice: %w", id, ErrOutOfOrder)
	}
	c.byID[id] = len(c.containers)
	c.containers = append(c.containers, Container{ID: id, Queue: queue, Size: size,
		Large: size.DominantShare(c.node) >= 0.5, AskedMillis: atMillis, AllocatedMillis: Unset, FinishedMillis: Unset})
	c.seen(atMillis)
	return nil
}

// Allocated records the allocation of a container.
func (c *Collector) Allocated(id string, atMillis int64) error {
	i, ok := c.byID[id]
	if !ok || c.containers[i].AllocatedMillis != Unset || atMillis < c.containers[i].AskedMillis {
		return fmt.Errorf("container %s allocated at %d ms: %w", id, atMillis, ErrOutOfOrder)
	}
	c.containers[i].AllocatedMillis = atMillis
	c.seen(atMillis)
	return nil
}

// Finished records the end of a container.
func (c *Collector) Finished(id string, atMillis int64) error {
	i, ok := c.byID[id]
	if !ok || c.containers[i].AllocatedMillis == Unset || c.containers[i].FinishedMillis != Unset ||
		atMillis < c.containers[i].AllocatedMillis {
		return fmt.Errorf("container %s finished at %d ms: %w", id, atMillis, ErrOutOfOrder)
	}
	c.containers[i].FinishedMillis = atMillis
	c.seen(atMillis)
	return nil
}

// Tick records a sample. It replaces an earlier sample of the same time.
func (c *Collector) Tick(s Sample) error {
	if n := len(c.samples); n > 0 {
		switch before := c.samples[n-1].AtMillis; {
		case s.AtMillis < before:
			return fmt.Errorf("sample at %d ms after one at %d ms: %w", s.AtMillis, before, ErrOutOfOrder)
		case s.AtMillis == before:
			c.samples[n-1] = s
			return nil
		}
	}
	c.samples = append(c.samples, s)
	c.seen(s.AtMillis)
	return nil
}

// ReservationMade counts a reservation that was made.
func (c *Collector) ReservationMade() { c.made++ }

// ReservationMoved counts a reservation that moved to another node.
func (c *Collector) ReservationMoved() { c.moved++ }

// ReservationFulfilled counts a reservation that became a container.
func (c *Collector) ReservationFulfilled() { c.fulfilled++ }

// ReservationCancelled counts a cancelled reservation by its cause.
func (c *Collector) ReservationCancelled(cause string) { c.cancelled[cause]++ }

// End records the end of the replay, which may be later than the last event.
func (c *Collector) End(atMillis int64) { c.seen(atMillis) }

// Containers returns the containers in the order of the requests. The caller must not change them.
func (c *Collector) Containers() []Container { return c.containers }

func (c *Collector) seen(atMillis int64) { c.last = max(c.last, atMillis) }

package scheduler

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAppKeyOrder(t *testing.T) {
	inOrder := []appKey{
		{fair: 0, priority: 5, seq: 9}, {fair: 0, priority: 5, seq: 10}, {fair: 0, priority: 1, seq: 1}, {fair: 0, priority: -1, seq: 0}, {fair: 1, priority: 9, seq: 0},
	}
	for i := range inOrder {
		for k := range inOrder {
			if got := inOrder[i].less(inOrder[k]); got != (i < k) {
				t.Errorf("%+v before %+v: %v", inOrder[i], inOrder[k], got)
			}
		}
	}
}

func TestLog2FixedAgainstFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(1, 1<<50).Draw(t, "v")
		got, want := float64(log2Fixed(v))/65536, math.Log2(float64(v))
		if got > want+1e-9 || got < want-1.0/65536-1e-9 {
			t.Fatalf("log2(%d) = %v, got %v", v, want, got)
		}
	})
}

// TestNodeIndexAgainstAList compares the index with a plain list.
func TestNodeIndexAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x nodeIndex
		list := map[uint32]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			node := rapid.Uint32Range(1, 200).Draw(t, "node")
			list[node] = rapid.Int64Range(0, 1<<20).Draw(t, "free")
			x.set(node, bucketOf(list[node]))
		}
		size := rapid.Int64Range(1, 1<<20).Draw(t, "size")
		found := map[uint32]bool{}
		bucket, node := x.next(0, 0, size)
		for last := uint8(255); node != 0; bucket, node = x.next(bucket, node, size) {
			if found[node] || bucket > last || bucketOf(list[node]) != bucket {
				t.Fatalf("node %d comes from bucket %d after %d, again: %v", node, bucket, last, found[node])
			}
			found[node], last = true, bucket
		}
		for node, free := range list {
			if free >= size && !found[node] {
				t.Fatalf("node %d has %d free and is not found for %d", node, free, size)
			}
		}
	})
}

func TestBucketsGrowWithRoom(t *testing.T) {
	last := uint8(0)
	for free := int64(0); free < 1<<40; free = free*5/4 + 1 {
		b := bucketOf(free)
		if b < last || (free > 0 && b == 0) {
			t.Fatalf("%d is in bucket %d after %d", free, b, last)
		}
		last = b
	}
	if bucketOf(math.MaxInt64) < last || bucketOf(-5) != 0 {
		t.Error("the ends are wrong")
	}
}

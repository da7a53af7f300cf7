package scheduler

import (
	"math/bits"

	"rmd/yarn"
)

// nodeIndex finds nodes by free memory. Each node is in the bucket of its free memory; there are
// four buckets per doubling. Eager passes take nodes from the bucket with the most free memory
// downwards, and within a bucket in node order.
type nodeIndex struct {
	bucket []uint8 // by node; 0: in no bucket
	nodes  [roomBuckets][]uint64
	count  [roomBuckets]int32
}

const roomBuckets = 64 * 4

// bucketOf returns the bucket for an amount of free memory, or 0 if there is none.
func bucketOf(memory int64) uint8 {
	if memory <= 0 {
		return 0
	}
	n := bits.Len64(uint64(memory)) - 1
	var quarter uint64
	if n >= 2 {
		quarter = uint64(memory) >> (n - 2) & 3
	}
	return uint8(min(n*4+int(quarter)+1, roomBuckets-1))
}

func (x *nodeIndex) set(node uint32, bucket uint8) {
	for int(node) >= len(x.bucket) {
		x.bucket = append(x.bucket, 0)
	}
	old := x.bucket[node]
	if old == bucket {
		return
	}
	word, bit := node/64, uint64(1)<<(node%64)
	if old != 0 {
		x.nodes[old][word] &^= bit
		x.count[old]--
	}
	x.bucket[node] = bucket
	if bucket == 0 {
		return
	}
	for int(word) >= len(x.nodes[bucket]) {
		x.nodes[bucket] = append(x.nodes[bucket], 0)
	}
	x.nodes[bucket][word] |= bit
	x.count[bucket]++
}

// next returns the first node after (bucket, node) whose bucket may have at least the given memory.
// Bucket 0 begins the walk; node 0 ends it.
func (x *nodeIndex) next(bucket uint8, node uint32, memory int64) (uint8, uint32) {
	lowest := max(bucketOf(memory), 1)
	if bucket == 0 {
		bucket, node = roomBuckets-1, 0
	}
	for b := int(bucket); b >= int(lowest); b-- {
		if x.count[b] > 0 {
			if n := nextBit(x.nodes[b], node+1); n != 0 {
				return uint8(b), n
			}
		}
		node = 0
	}
	return 0, 0
}

func nextBit(words []uint64, from uint32) uint32 {
	w := int(from / 64)
	if w >= len(words) {
		return 0
	}
	if m := words[w] &^ (1<<(from%64) - 1); m != 0 {
		return uint32(w*64 + bits.TrailingZeros64(m))
	}
	for w++; w < len(words); w++ {
		if words[w] != 0 {
			return uint32(w*64 + bits.TrailingZeros64(words[w]))
		}
	}
	return 0
}

// refreshNode moves a node to the bucket of its free memory. Nodes that take no containers are in no
// bucket, and neither are reserved nodes that may not lend.
func (s *Scheduler) refreshNode(slot uint32) {
	n := s.st.Nodes.Get(slot) // a zero record, which takes nothing, if the node was forgotten
	var bucket, lent uint8
	if n.TakesContainers() && (n.Reservation == 0 || s.backfills) && s.hasRoom(n) {
		bucket = bucketOf(n.Unallocated()[yarn.Memory])
	}
	p := s.partitionOf(n)
	if n.Reservation != 0 {
		bucket, lent = 0, bucket
	}
	p.nodes.set(slot, bucket)
	if s.backfills {
		p.lent.set(slot, lent)
	}
}

package length

import "testing"

// TestBuckets checks that the buckets cover all lengths without gaps.
func TestBuckets(t *testing.T) {
	for bucket := range Buckets {
		from, to := Bounds(bucket)
		if from >= to || Bucket(from) != bucket || Bucket(to-1) != bucket {
			t.Errorf("bucket %d is from %d to %d", bucket, from, to)
		}
	}
	if _, to := Bounds(Buckets - 1); to < 70*24*3600*1000 || Bucket(1<<62) != Buckets-1 || Bucket(-1) != 0 {
		t.Errorf("the last bucket ends at %d", to)
	}
}

package fsm

// A fenced batch has a sequence number: the low 32 bits of the term in which it was planned,
// followed by its position among the batches of that term, from 1. A batch with sequence 0 is not
// fenced: tools and tests make such batches.
//
// Raft appends whatever its leader proposes. Between the planning of a batch and its append, the
// replica can lose its leadership and win it again, with another leader's entries in between. Or
// Raft can reject a batch and accept the next one. In both cases the events would be applied to a
// prefix of the log for which they were not planned. Therefore every replica compares the sequence
// number with the term of the entry and with the sequence number of the last batch that it applied.
// All replicas skip the same entries. The last sequence number is part of a snapshot's header.
const placeBits = 32

// follows reports whether a batch with the given sequence number, in an entry of the given term,
// may be applied after the batch with sequence number last.
func follows(last, term, sequence uint64) bool {
	return sequence == 0 || (sequence>>placeBits == term&(1<<placeBits-1) && sequence == next(last, term))
}

// next returns the sequence number of the next batch of a term.
func next(last, term uint64) uint64 {
	base := term << placeBits
	if last>>placeBits == base>>placeBits {
		return last + 1
	}
	return base + 1
}

package fsm

// A fenced batch carries a sequence number: the low 32 bits of the term in
// which it was planned, then its place among the batches of that term, from 1.
// Sequence 0 is not fenced: entries that nobody planned, of tools and tests.
//
// Why it is needed: Raft appends whatever its leader is given. Between the
// planning of a batch and its append, leadership can be lost and won again with
// another leader's entries in between, or an earlier batch in flight can be
// refused while a later one is taken. Either would put events on a prefix they
// were not planned on. All replicas compare the number with the entry's own term
// and with the last number applied, so they all skip the same entries; the last
// number is part of a snapshot's header.
const placeBits = 32

// follows says whether a batch with this number, in an entry of this term, may
// be applied after the last one.
func follows(last, term, sequence uint64) bool {
	return sequence == 0 || (sequence>>placeBits == term&(1<<placeBits-1) && sequence == next(last, term))
}

// next is the number of the next batch of a term.
func next(last, term uint64) uint64 {
	base := term << placeBits
	if last>>placeBits == base>>placeBits {
		return last + 1
	}
	return base + 1
}

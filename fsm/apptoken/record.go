package apptoken

import (
	"crypto/sha256"
	"fmt"

	"rmd/internal/codec"
)

// The kinds of tokens that the ledger treats differently from others.
const (
	KindHDFS = "HDFS_DELEGATION_TOKEN" // can be replaced
	KindRM   = "RM_DELEGATION_TOKEN"   // of the cluster itself
)

// Phase says what is to be done with a token next.
type Phase uint8

// The phases; append only.
const (
	New    Phase = iota // it must be renewed before its applications may start
	Kept                // it was renewed, and is renewed again at NextMillis
	Lost                // it can no longer be renewed; it stays until its applications have ended
	Ending              // its last application has left: it is to be cancelled
	phases
)

var phaseNames = [phases]string{"new", "kept", "lost", "ending"}

// Phases returns the names of all phases.
func Phases() []string { return phaseNames[:] }

func (p Phase) String() string {
	if p >= phases {
		return fmt.Sprintf("Phase(%d)", uint8(p))
	}
	return phaseNames[p]
}

// Token is a token of one or more applications. Records are never changed in place: forks of the
// state share them.
type Token struct {
	Number               uint32
	Kind, Service        string
	Identifier, Password []byte
	Conf                 []byte // of the application that brought it; see event.TokensAdded
	MaxMillis            int64  // the service renews it until then; 0 if that is not known
	Phase                Phase
	Apps                 []uint32 // sequence numbers, ascending
	Keep                 bool     // do not cancel it
	NextMillis           int64    // the next call to its service; it is not made before
	EndMillis            int64    // by the last renewal; 0 before the first one
	Failures             uint32   // of calls, in a row
	Why                  string   // of the last failure
}

// String describes the token without its secrets.
func (t *Token) String() string {
	return fmt.Sprintf("token %d (%s of %s)", t.Number, t.Kind, t.Service)
}

func (t *Token) key() uint32 { return t.Number }

// content identifies what makes tokens equal. Nobody can make two tokens with one content.
func (t *Token) content() string { return contentOf(t.Kind, t.Service, t.Identifier, t.Password) }

func contentOf(kind, service string, identifier, password []byte) string {
	c := codec.NewEncoder(nil)
	c.String(&kind)
	c.String(&service)
	c.Raw(&identifier)
	c.Raw(&password)
	sum := sha256.Sum256(c.Bytes())
	return string(sum[:])
}

// Renewable reports whether another renewal can move the end.
func (t *Token) Renewable() bool { return t.MaxMillis == 0 || t.EndMillis < t.MaxMillis }

// Doomed reports whether the applications of the token will lose it as things are: its renewals
// fail, or nothing has replaced it when it was time for that.
func (t *Token) Doomed(now int64) bool {
	return t.Phase == Lost || t.Phase == Kept && (t.Failures > 0 || !t.Renewable() && t.NextMillis <= now)
}

func (t *Token) code(c *codec.Coder) {
	c.U32(&t.Number)
	c.String(&t.Kind)
	c.String(&t.Service)
	c.Raw(&t.Identifier)
	c.Raw(&t.Password)
	c.Raw(&t.Conf)
	c.I64(&t.MaxMillis)
	codec.Enum(c, &t.Phase)
	codeNumbers(c, &t.Apps)
	c.Bool(&t.Keep)
	c.I64(&t.NextMillis)
	c.I64(&t.EndMillis)
	c.U32(&t.Failures)
	c.String(&t.Why)
}

// Holder is an application with tokens. Records are never changed in place.
type Holder struct {
	App         uint32
	Tokens      []uint32 // numbers, ascending
	Waits       bool     // it may not start yet
	DelayMillis int64    // from its end to the release of its tokens
	LeaveMillis int64    // when its tokens are released; 0 while it runs
	// FetchMillis is when to get its first token of the file system, 0 if it needs none. Failures and
	// Why are of these calls.
	FetchMillis int64
	Failures    uint32
	Why         string
	Sequence    uint64 // of its last replacement; 0: none
	Credentials []byte // its new tokens, for nodes
}

func (h *Holder) key() uint32 { return h.App }

func (h *Holder) code(c *codec.Coder) {
	c.U32(&h.App)
	codeNumbers(c, &h.Tokens)
	c.Bool(&h.Waits)
	c.I64(&h.DelayMillis)
	c.I64(&h.LeaveMillis)
	c.I64(&h.FetchMillis)
	c.U32(&h.Failures)
	c.String(&h.Why)
	c.U64(&h.Sequence)
	c.Raw(&h.Credentials)
}

func codeNumbers(c *codec.Coder, v *[]uint32) {
	codec.List(c, v, func(c *codec.Coder, n *uint32) { c.U32(n) })
}

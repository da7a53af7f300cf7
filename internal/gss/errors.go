package gss

import "fmt"

// Reason is why a context is refused. Its text is short enough for the label of a metric.
type Reason string

// The reasons.
const (
	Malformed   Reason = "malformed"     // the token is not an AP-REQ for this mechanism
	Unsupported Reason = "unsupported"   // an encryption type or an option that is not supported
	NoKey       Reason = "no-key"        // the keytab has no key of the ticket's type and version
	Integrity   Reason = "integrity"     // ticket or authenticator cannot be decrypted
	Expired     Reason = "expired"       // the ticket has expired
	NotYetValid Reason = "not-yet-valid" // the ticket begins in the future
	Skew        Reason = "skew"          // the clocks of client and server differ too much
	Replay      Reason = "replay"        // the token was used before
	Crowded     Reason = "crowded"       // too many tokens were accepted lately
	Address     Reason = "address"       // the ticket is for other addresses of the client
	Mismatch    Reason = "mismatch"      // ticket and authenticator name different clients
	Binding     Reason = "binding"       // the token is for another channel
	Transit     Reason = "transit"       // the ticket came through realms that are not trusted
	Internal    Reason = "internal"      // a panic while the token was decoded
)

// Error says why a context is refused.
type Error struct {
	Reason Reason
	// Client is the principal of the ticket, or "" if the ticket could not be decrypted.
	Client string
	// Detail says what is wrong, and what to do about it where that is known.
	Detail string
}

// Error returns the client and the detail.
func (e *Error) Error() string {
	if e.Client == "" {
		return e.Detail
	}
	return e.Client + ": " + e.Detail
}

func refuse(r Reason, format string, a ...any) *Error {
	return &Error{Reason: r, Detail: fmt.Sprintf(format, a...)}
}

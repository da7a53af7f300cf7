package api

// AppTokens is one page of the tokens that applications carry for other services, by number.
type AppTokens struct {
	Tokens []AppToken `json:"tokens"`
	Next   string     `json:"next,omitempty"`
}

// AppToken is a token of one or more applications. Its identifier and its password are secret.
type AppToken struct {
	Number  uint32 `json:"number"` // as in the leader's log
	Kind    string `json:"kind"`
	Service string `json:"service"`
	// Owner and Renewer are absent if the identifier cannot be decoded.
	Owner      string `json:"owner,omitempty"`
	Renewer    string `json:"renewer,omitempty"`
	State      string `json:"state"`             // new, kept, lost or ending
	NextMillis int64  `json:"next_ms,omitempty"` // of the next call to the service
	EndMillis  int64  `json:"end_ms,omitempty"`  // without a further renewal
	MaxMillis  int64  `json:"max_ms,omitempty"`  // no renewal can move the end beyond; absent if that is not known
	Failures   uint32 `json:"failures"`          // of calls, in a row
	LastError  string `json:"last_error,omitempty"`
	Keep       bool   `json:"keep,omitempty"` // it is not cancelled
	// Apps are the first 100 of its AppCount applications.
	Apps     []string `json:"apps"`
	AppCount int      `json:"app_count"`
}

package yarn

// Place is a host or rack that an AM is asked at, beside "*". Without Relax
// nothing wider than it will do, as with any ask.
type Place struct {
	Name  string
	Relax bool
}

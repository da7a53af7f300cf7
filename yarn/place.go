package yarn

// NoLabel is the label " ", which means nodes without a label, as in YARN. An empty label means
// that the default label of the application or queue applies.
const NoLabel = " "

// Place is a host or rack at which to ask for an AM, in addition to "*". Without Relax the place
// does not stand for wider ones (the rack of a host, or "*"), as with any ask.
type Place struct {
	Name  string
	Relax bool
}

package yarn

// NoLabel stands for the nodes without a label where a label may be left out: what names none has
// the label of its application or queue, and a blank says that it has none, as in YARN.
const NoLabel = " "

// Place is a host or rack that an AM is asked at, beside "*". Without Relax
// nothing wider than it will do, as with any ask.
type Place struct {
	Name  string
	Relax bool
}

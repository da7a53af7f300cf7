package yarn

// DynamicQueue is a queue that a submission created and the configuration does not list.
type DynamicQueue struct {
	Path string
	Leaf bool
}

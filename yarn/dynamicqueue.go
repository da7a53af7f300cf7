package yarn

// DynamicQueue is a queue that a submission created and the configuration does not list.
type DynamicQueue struct {
	Path string
	Leaf bool
	// Active says that a leaf below a parent with auto-create-child-queue has the capacity of the
	// template; else it has none. Other queues have theirs in any case.
	Active bool
}

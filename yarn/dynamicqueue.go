package yarn

// DynamicQueue is a queue that a submission created and the configuration does not list.
type DynamicQueue struct {
	Path string
	Leaf bool
	// Active means that a leaf below a parent with auto-create-child-queue has the template's
	// capacity. Otherwise it has none. Active has no meaning for other queues.
	Active bool
}

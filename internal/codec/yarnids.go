package codec

import "rmd/yarn"

// ApplicationID codes an application id.
func (c *Coder) ApplicationID(v *yarn.ApplicationID) {
	c.I64(&v.ClusterTimestamp)
	c.U32(&v.Seq)
}

// AttemptID codes an attempt id.
func (c *Coder) AttemptID(v *yarn.AttemptID) {
	c.ApplicationID(&v.App)
	c.U32(&v.Attempt)
}

// ContainerID codes a container id.
func (c *Coder) ContainerID(v *yarn.ContainerID) {
	c.ApplicationID(&v.App)
	c.U32(&v.Attempt)
	c.U64(&v.Number)
}

// NodeID codes a node id: host and port.
func (c *Coder) NodeID(v *yarn.NodeID) {
	c.String(&v.Host)
	c.U16(&v.Port)
}

// Key codes a scheduler key.
func (c *Coder) Key(v *yarn.SchedulerKey) {
	c.I32(&v.Priority)
	c.I64(&v.AllocationID)
}

// Gang codes a gang.
func (c *Coder) Gang(v *yarn.Gang) {
	c.I32(&v.Priority)
	c.I64(&v.Request)
	c.Bool(&v.AnyRequest)
	c.I64(&v.Count)
	c.I64(&v.PerNode)
	c.Bool(&v.OneRack)
	c.I64(&v.TimeoutMillis)
	c.Bool(&v.Ordinary)
}

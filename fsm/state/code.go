package state

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

func (q *Queue) code(c *codec.Coder) {
	c.String(&q.Path)
	c.String(&q.Name)
	codec.Slot(c, &q.Parent)
	codeSlots(c, &q.Children)
	c.Bool(&q.Leaf)
	codec.Enum(c, &q.State)
	c.Resource(&q.Used)
	c.Resource(&q.Reserved)
	c.Resource(&q.Pending)
	c.Resource(&q.AMUsed)
	c.I64(&q.Containers)
	c.I32(&q.ActiveApps)
	c.I32(&q.PendingApps)
	c.I32(&q.NonRunnableApps)
	c.I32(&q.Runnable)
	c.I32(&q.ActiveUsers)
	c.I32(&q.WaitingUsers)
	c.Resource(&q.ActiveUsed)
	q.Totals.code(c)
}

func (u *User) code(c *codec.Coder) {
	codec.Slot(c, &u.Queue)
	codec.Slot(c, &u.Name)
	c.Resource(&u.Used)
	c.Resource(&u.AMUsed)
	c.I32(&u.Apps)
	c.I32(&u.Active)
	c.I32(&u.Pending)
	c.I32(&u.Demanding)
}

func (a *App) code(c *codec.Coder) {
	d := a.Details()
	c.ApplicationID(&a.ID)
	c.String(&d.Name)
	codec.Slot(c, &a.User)
	c.String(&d.Type)
	codeStrings(c, &d.Tags)
	c.String(&d.Context)
	codec.Slot(c, &a.Queue)
	codec.Slot(c, &a.UserSlot)
	c.I32(&a.Priority)
	codec.Enum(c, &a.State)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Unmanaged)
	c.Bool(&a.KeepContainers)
	c.U32(&a.MaxAttempts)
	c.U32(&a.Failures)
	c.Resource(&a.AM)
	c.I64(&a.LifetimeMillis)
	c.I64(&a.ValidityMillis)
	c.I64(&a.SubmittedMillis)
	c.I64(&a.StartedMillis)
	c.I64(&a.EndedMillis)
	c.Resource(&a.ResourceSeconds)
	codec.List(c, &d.AMPlaces, func(c *codec.Coder, p *yarn.Place) {
		c.String(&p.Name)
		c.Bool(&p.Relax)
	})
	c.Bool(&a.AMStrict)
	a.codeAttempt(c, &d)
	codec.Slot(c, &a.AMLabel)
	c.String(&d.Label)
	c.String(&d.AMLabel)
	if c.Decoding() {
		a.details, a.nameHash, a.declaredMillis = pack(d), hashOfAppName(d.Name), declaredLifetime(d.Tags)
		a.labelled = d.Label != "" || d.AMLabel != ""
	}
}

func (a *App) codeAttempt(c *codec.Coder, d *AppDetails) {
	c.U32(&a.Attempt)
	codec.Enum(c, &a.AttemptState)
	c.I64(&a.AttemptMillis)
	c.I32(&a.Response)
	c.U64(&a.NextNumber)
	c.U64(&a.MasterNumber)
	codec.Slot(c, &a.MasterNode)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.FinishMillis)
	c.U32(&a.Progress)
	c.Resource(&a.Used)
	c.Resource(&a.Reserved)
	c.Resource(&a.Pending)
	c.String(&d.Host)
	c.I32(&a.RPCPort)
	c.String(&d.TrackingURL)
	c.String(&d.Diagnostics)
	c.Raw(&d.ClientKey.Bytes)
	codec.Enum(c, &d.ClientKey.Algorithm)
	codec.Slot(c, &a.Asks)
	c.I64(&a.Outstanding)
	codec.Slot(c, &a.Containers)
	c.I32(&a.Live)
	codec.Slot(c, &a.Undelivered)
	codec.Slot(c, &a.Reservations)
	c.I32(&a.Reserving)
	codeSlots(c, &a.Blacklist)
	codec.Slot(c, &a.History)
	codec.Slot(c, &a.NodeApplications)
}

func (k *Ask) code(c *codec.Coder) {
	codec.Slot(c, &k.App)
	c.Key(&k.Key)
	c.Resource(&k.Size)
	c.I64(&k.Count)
	c.Bool(&k.Relax)
	c.Bool(&k.AM)
	c.U32(&k.Opportunities)
	c.U32(&k.ReReservations)
	c.I32(&k.Reservations)
	c.I32(&k.Entries)
	codec.Slot(c, &k.Locations)
	codec.Slot(c, &k.Next)
	codec.Slot(c, &k.Label)
	c.U32(&k.Missed)
}

func (l *Location) code(c *codec.Coder) {
	codec.Slot(c, &l.Name)
	c.I64(&l.Count)
	c.Bool(&l.Relax)
	codec.Slot(c, &l.Next)
}

func (k *Container) code(c *codec.Coder) {
	codec.Slot(c, &k.App)
	c.U32(&k.Attempt)
	c.U64(&k.Number)
	codec.Slot(c, &k.Node)
	c.Key(&k.Key)
	c.Resource(&k.Size)
	codec.Enum(c, &k.State)
	codec.Enum(c, &k.Locality)
	c.Bool(&k.AM)
	c.Bool(&k.OnNode)
	c.Bool(&k.Launched)
	c.I32(&k.ExitStatus)
	c.I32(&k.GrantedIn)
	c.I32(&k.CompletedIn)
	codec.Slot(c, &k.Diagnostics)
	c.I64(&k.AllocatedMillis)
	c.U8(&k.Signal)
	codec.Slot(c, &k.prevApp)
	codec.Slot(c, &k.nextApp)
	codec.Slot(c, &k.prevNode)
	codec.Slot(c, &k.nextNode)
	codec.Slot(c, &k.nextUndelivered)
	c.Bool(&k.undelivered)
}

func (n *Node) code(c *codec.Coder) {
	c.NodeID(&n.ID)
	codec.Slot(c, &n.Host)
	codec.Slot(c, &n.RackID)
	c.String(&n.Rack)
	c.U16(&n.HTTPPort)
	c.String(&n.Version)
	codec.Enum(c, &n.State)
	c.I64(&n.DeadlineMillis)
	c.String(&n.Report)
	c.Resource(&n.Total)
	c.Resource(&n.Allocated)
	codec.Slot(c, &n.Reservation)
	codec.Slot(c, &n.Containers)
	c.I32(&n.Count)
	codec.Slot(c, &n.ReservationBans)
	c.I64(&n.Registered)
	c.I32(&n.PendingCommands)
	c.Bool(&n.NodeManager)
	c.Bool(&n.TotalSet)
	c.Resource(&n.SetTotal)
	codec.Slot(c, &n.NodeApplications)
	c.I32(&n.PendingCleanups)
	c.String(&n.Address)
	c.U64(&n.HeartbeatSession)
	c.I32(&n.Response)
	c.I64(&n.KnownMillis)
	c.I64(&n.DrainSinceMillis)
	c.I64(&n.SilentSinceMillis)
	c.I64(&n.LastHeardMillis)
}

func (r *Reservation) code(c *codec.Coder) {
	c.U64(&r.Number)
	codec.Slot(c, &r.App)
	c.Key(&r.Key)
	codec.Slot(c, &r.Node)
	c.U32(&r.Attempt)
	c.U64(&r.Container)
	c.Resource(&r.Size)
	c.Bool(&r.AM)
	c.I64(&r.MadeMillis)
	codec.Slot(c, &r.prevApp)
	codec.Slot(c, &r.nextApp)
	c.U32(&r.Preempted)
	c.U32(&r.Members)
}

func (r *Resize) code(c *codec.Coder) {
	codec.Slot(c, &r.Container)
	c.I32(&r.Version)
	codec.Slot(c, &r.Ask)
	codec.Slot(c, &r.Reservation)
	codec.Enum(c, &r.Change)
	c.I32(&r.DeliveredIn)
	c.Bool(&r.Unacked)
	c.Bool(&r.Unconfirmed)
	c.Resource(&r.Confirmed)
	c.I64(&r.SinceMillis)
}

func (b *ReservationBan) code(c *codec.Coder) {
	codec.Slot(c, &b.App)
	c.Key(&b.Key)
	codec.Slot(c, &b.Next)
}

func (r *Request) code(c *codec.Coder) {
	c.String(&r.Key)
	c.U64(&r.BodyHash)
	c.Raw(&r.Reply)
	c.I64(&r.AtMillis)
	codec.Slot(c, &r.Next)
}

func (a *Attempt) code(c *codec.Coder) {
	codec.Slot(c, &a.App)
	c.U32(&a.Number)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Counted)
	c.Bool(&a.Unregistered)
	c.I64(&a.StartedMillis)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.EndedMillis)
	c.U64(&a.MasterNumber)
	codec.Slot(c, &a.MasterNode)
	c.String(&a.Host)
	c.I32(&a.RPCPort)
	c.String(&a.TrackingURL)
	c.String(&a.Diagnostics)
	codec.Slot(c, &a.Next)
}

func (p *NodeApplication) code(c *codec.Coder) {
	c.ApplicationID(&p.App)
	codec.Slot(c, &p.Slot)
	codec.Slot(c, &p.Node)
	codec.Slot(c, &p.prevNode)
	codec.Slot(c, &p.nextNode)
	codec.Slot(c, &p.nextApp)
}

func (t *DelegationToken) code(c *codec.Coder) {
	c.U32(&t.Sequence)
	c.String(&t.Owner)
	c.String(&t.Renewer)
	c.String(&t.RealUser)
	c.I32(&t.KeyID)
	c.I64(&t.IssuedMillis)
	c.I64(&t.MaxMillis)
	c.I64(&t.ExpiresMillis)
}

func (k *KeySet) code(c *codec.Coder) {
	for _, key := range []*MasterKey{&k.Current, &k.Next, &k.Previous} {
		c.I32(&key.ID)
		c.Raw(&key.Bytes)
		codec.Enum(c, &key.Algorithm)
	}
	c.I64(&k.MadeMillis)
	c.I64(&k.ActivateMillis)
}

func (h *HostLists) code(c *codec.Coder) {
	codeStrings(c, &h.Include)
	codeStrings(c, &h.Exclude)
}

func (l *Label) code(c *codec.Coder) {
	c.String(&l.Name)
	c.Bool(&l.Listed)
	c.Bool(&l.Exclusive)
	c.Resource(&l.Total)
	c.I32(&l.Nodes)
}

func (h *LabelledHost) code(c *codec.Coder) {
	c.NodeID(&h.ID)
	codec.Slot(c, &h.Label)
}

func (u *LabelUse) code(c *codec.Coder) {
	codec.Slot(c, &u.Label)
	codec.Slot(c, &u.Queue)
	codec.Slot(c, &u.User)
	c.Resource(&u.Used)
	c.Resource(&u.Reserved)
	c.Resource(&u.Pending)
	c.Resource(&u.AMUsed)
	c.Resource(&u.ActiveUsed)
}

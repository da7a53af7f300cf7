package state

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

func (q *Queue) code(c *codec.Coder) {
	c.String(&q.Path)
	c.String(&q.Name)
	c.U32(&q.Parent)
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
	c.U32(&u.Queue)
	c.U32(&u.Name)
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
	c.U32(&a.User)
	c.String(&d.Type)
	codeStrings(c, &d.Tags)
	c.String(&d.Context)
	c.U32(&a.Queue)
	c.U32(&a.UserSlot)
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
	c.U16(&a.AMLabel)
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
	c.U32(&a.MasterNode)
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
	c.U32(&a.Asks)
	c.I64(&a.Outstanding)
	c.U32(&a.Containers)
	c.I32(&a.Live)
	c.U32(&a.Undelivered)
	c.U32(&a.Reservations)
	c.I32(&a.Reserving)
	codeSlots(c, &a.Blacklist)
	c.U32(&a.History)
	c.U32(&a.NodeApplications)
}

func (k *Ask) code(c *codec.Coder) {
	c.U32(&k.App)
	c.Key(&k.Key)
	c.Resource(&k.Size)
	c.I64(&k.Count)
	c.Bool(&k.Relax)
	c.Bool(&k.AM)
	c.U32(&k.Opportunities)
	c.U32(&k.ReReservations)
	c.I32(&k.Reservations)
	c.I32(&k.Entries)
	c.U32(&k.Locations)
	c.U32(&k.Next)
	c.U16(&k.Label)
	c.U32(&k.Missed)
}

func (l *Location) code(c *codec.Coder) {
	c.U32(&l.Name)
	c.I64(&l.Count)
	c.Bool(&l.Relax)
	c.U32(&l.Next)
}

func (k *Container) code(c *codec.Coder) {
	c.U32(&k.App)
	c.U32(&k.Attempt)
	c.U64(&k.Number)
	c.U32(&k.Node)
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
	c.U32(&k.Diagnostics)
	c.I64(&k.AllocatedMillis)
	c.U8(&k.Signal)
	c.U32(&k.prevApp)
	c.U32(&k.nextApp)
	c.U32(&k.prevNode)
	c.U32(&k.nextNode)
	c.U32(&k.nextUndelivered)
	c.Bool(&k.undelivered)
}

func (n *Node) code(c *codec.Coder) {
	c.NodeID(&n.ID)
	c.U32(&n.Host)
	c.U32(&n.RackID)
	c.String(&n.Rack)
	c.U16(&n.HTTPPort)
	c.String(&n.Version)
	codec.Enum(c, &n.State)
	c.I64(&n.DeadlineMillis)
	c.String(&n.Report)
	c.Resource(&n.Total)
	c.Resource(&n.Allocated)
	c.U32(&n.Reservation)
	c.U32(&n.Containers)
	c.I32(&n.Count)
	c.U32(&n.ReservationBans)
	c.I64(&n.Registered)
	c.I32(&n.PendingCommands)
	c.Bool(&n.NodeManager)
	c.Bool(&n.TotalSet)
	c.Resource(&n.SetTotal)
	c.U32(&n.NodeApplications)
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
	c.U32(&r.App)
	c.Key(&r.Key)
	c.U32(&r.Node)
	c.U32(&r.Attempt)
	c.U64(&r.Container)
	c.Resource(&r.Size)
	c.Bool(&r.AM)
	c.I64(&r.MadeMillis)
	c.U32(&r.prevApp)
	c.U32(&r.nextApp)
	c.U32(&r.Preempted)
	c.U32(&r.Members)
}

func (r *Resize) code(c *codec.Coder) {
	c.U32(&r.Container)
	c.I32(&r.Version)
	c.U32(&r.Ask)
	c.U32(&r.Reservation)
	codec.Enum(c, &r.Change)
	c.I32(&r.DeliveredIn)
	c.Bool(&r.Unacked)
	c.Bool(&r.Unconfirmed)
	c.Resource(&r.Confirmed)
	c.I64(&r.SinceMillis)
}

func (b *ReservationBan) code(c *codec.Coder) {
	c.U32(&b.App)
	c.Key(&b.Key)
	c.U32(&b.Next)
}

func (r *Request) code(c *codec.Coder) {
	c.String(&r.Key)
	c.U64(&r.BodyHash)
	c.Raw(&r.Reply)
	c.I64(&r.AtMillis)
	c.U32(&r.Next)
}

func (a *Attempt) code(c *codec.Coder) {
	c.U32(&a.App)
	c.U32(&a.Number)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Counted)
	c.Bool(&a.Unregistered)
	c.I64(&a.StartedMillis)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.EndedMillis)
	c.U64(&a.MasterNumber)
	c.U32(&a.MasterNode)
	c.String(&a.Host)
	c.I32(&a.RPCPort)
	c.String(&a.TrackingURL)
	c.String(&a.Diagnostics)
	c.U32(&a.Next)
}

func (p *NodeApplication) code(c *codec.Coder) {
	c.ApplicationID(&p.App)
	c.U32(&p.Slot)
	c.U32(&p.Node)
	c.U32(&p.prevNode)
	c.U32(&p.nextNode)
	c.U32(&p.nextApp)
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

func (s *State) codeHosts(c *codec.Coder) {
	codeStrings(c, &s.Hosts.Include)
	codeStrings(c, &s.Hosts.Exclude)
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
	c.U16(&h.Label)
}

func (u *LabelUse) code(c *codec.Coder) {
	c.U16(&u.Label)
	c.U32(&u.Queue)
	c.U32(&u.User)
	c.Resource(&u.Used)
	c.Resource(&u.Reserved)
	c.Resource(&u.Pending)
	c.Resource(&u.AMUsed)
	c.Resource(&u.ActiveUsed)
}

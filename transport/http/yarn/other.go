package yarnweb

import (
	"net/http"
	"os/user"
	"strconv"
	"sync"

	"rmd/transport/http/auth"
	"rmd/transport/http/route"
)

// defaultUser is YARN's name for a caller that gives none.
const defaultUser = "dr.who"

// requested returns the user of a call to Hadoop's API. Simple authentication trusts the caller.
func (s *API) requested(c *route.Call) string {
	if name := auth.YARNUser(c.R); name != "" {
		return name
	}
	if name := c.User(); name != "" {
		return name
	}
	return defaultUser
}

// loginUser returns the user that runs this program.
var loginUser = sync.OnceValue(func() string {
	u, err := user.Current()
	if err != nil {
		return "rmd"
	}
	return u.Username
})

func (s *API) wsUserInfo(c *route.Call) error {
	return s.writeBare(c, "clusterUserInfo", obj{{"rmLoginUser", loginUser()}, {"requestedUser", s.requested(c)}})
}

// wsQueueAccess says whether a user may submit to a queue or administer it.
func (s *API) wsQueueAccess(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	queue, name, caller := c.Args["queue"], c.Query.Get("user"), s.requested(c)
	slot, err := v.FindQueue(queue)
	i := -1
	if err == nil {
		i = v.Configured(v.QueuePath(slot))
	}
	if i < 0 || !v.Conf.MayAdminister(i, caller) {
		return wsForbidden("User=" + caller + " doesn't haven access to queue=" + queue +
			" so it cannot check ACLs for other users.")
	}
	if name == "" {
		return wsIllegal("Null user")
	}
	kind := c.Query.Get("queue-acl-type")
	if kind == "" {
		kind = "SUBMIT_APPLICATIONS"
	}
	var allowed bool
	switch kind {
	case "SUBMIT_APPLICATIONS":
		allowed = v.Conf.MaySubmit(i, name)
	case "ADMINISTER_QUEUE":
		allowed = v.Conf.MayAdminister(i, name)
	default:
		return wsBad("Specified queueAclType=" + kind +
			" is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}")
	}
	why := ""
	if !allowed {
		why = "User=" + name + " doesn't have access to queue=" + queue + " with acl-type=" + kind
	}
	return s.writeBare(c, "rmQueueAclInfo", obj{{"allowed", strconv.FormatBool(allowed)}, {"user", name},
		{"diagnostics", why}})
}

// wsReservations answers as YARN does if its ReservationSystem is off. Reservations of containers
// are at /v1/reservations.
func wsReservations(*route.Call) error {
	return wsBad("Reservation is not enabled. Please enable & try again")
}

// wsSchedulerLogs refuses as YARN does: there this address accepts only writes.
func wsSchedulerLogs(*route.Call) error {
	return &remoteError{http.StatusServiceUnavailable, webApplication, ""}
}

// wsOverview shows the settings of the scheduler. All values are texts.
func (s *API) wsOverview(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	if v.Conf == nil {
		return wsNotFound("the scheduler has no queues yet")
	}
	kinds := ""
	for i, name := range v.Kinds {
		if i > 0 {
			kinds += ","
		}
		if kinds += name; v.unit(i) != "" {
			kinds += " (unit=" + v.unit(i) + ")"
		}
	}
	return s.writeBare(c, "scheduler", obj{{"schedulerType", "Capacity Scheduler"}, {"schedulingResourceType", kinds},
		{"minimumAllocation", texts(v.wsResource(v.Conf.MinAlloc).doc)},
		{"maximumAllocation", texts(v.wsResource(v.State.Nodes.MaximumAllocation(v.Conf.MaxAlloc)).doc)},
		{"applicationPriority", text(int64(v.Conf.MaxPriority))}, {"schedulerBusy", "0"}, {"rmDispatcherEventQueueSize", "0"},
		{"schedulerDispatcherEventQueueSize", "0"}})
}

// texts converts a document to one in which all values are texts and empty objects are nil, as
// Hadoop's older JSON writer does.
func texts(d obj) obj {
	out := make(obj, 0, len(d))
	for _, f := range d {
		switch v := f.value.(type) {
		case obj:
			f.value = nil
			if len(v) > 0 {
				f.value = texts(v)
			}
		case []obj:
			list := make([]obj, len(v))
			for i := range v {
				list[i] = texts(v[i])
			}
			f.value = list
		case int64:
			f.value = text(v)
		case int:
			f.value = strconv.Itoa(v)
		}
		out = append(out, f)
	}
	return out
}

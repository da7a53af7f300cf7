package yarnweb

import (
	"net/http"
	"os/user"
	"strconv"
	"sync"

	"rmd/transport/http/route"
)

// defaultUser is whom YARN takes a caller for that says nothing.
const defaultUser = "dr.who"

// requested is the user that a call on Hadoop's API speaks for: simple
// authentication takes the caller's word.
func (s *API) requested(c *route.Call) string {
	if name := c.Query.Get("user.name"); name != "" {
		return name
	}
	if name := c.User(); name != "" {
		return name
	}
	return defaultUser
}

// loginUser is the user this program runs as.
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
		return wsForbidden("User=" + caller + " doesn't haven access to queue=" + queue + " so it cannot check ACLs for other users.")
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
		return wsBad("Specified queueAclType=" + kind + " is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}")
	}
	why := ""
	if !allowed {
		why = "User=" + name + " doesn't have access to queue=" + queue + " with acl-type=" + kind
	}
	return s.writeBare(c, "rmQueueAclInfo", obj{{"allowed", strconv.FormatBool(allowed)}, {"user", name}, {"diagnostics", why}})
}

// wsReservations answers as YARN does where its ReservationSystem is off.
// Reservations of containers are another thing: /v1/reservations.
func wsReservations(*route.Call) error {
	return wsBad("Reservation is not enabled. Please enable & try again")
}

// wsSchedulerLogs answers as YARN does to a reader: it is a write there.
func wsSchedulerLogs(*route.Call) error {
	return &remoteError{http.StatusServiceUnavailable, webApplication, ""}
}

// wsOverview is the scheduler's settings: all values are texts.
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
		{"minimumAllocation", texts(v.wsResource(v.Conf.MinAlloc).doc)}, {"maximumAllocation", texts(v.wsResource(v.Conf.MaxAlloc).doc)},
		{"applicationPriority", text(int64(v.Conf.MaxPriority))}, {"schedulerBusy", "0"}, {"rmDispatcherEventQueueSize", "0"}, {"schedulerDispatcherEventQueueSize", "0"}})
}

// texts writes a document as the readers of Hadoop that know no numbers do:
// every value a text, and nothing for an empty one.
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

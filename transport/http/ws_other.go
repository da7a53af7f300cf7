package httpserver

import (
	"net/http"
	"os/user"
	"strconv"
	"sync"

	"rmd/yarn"
)

// defaultUser is whom YARN takes a caller for that says nothing.
const defaultUser = "dr.who"

// requested is the user that a call on Hadoop's API speaks for: simple
// authentication takes the caller's word.
func (c *call) requested() string {
	if name := c.q.Get("user.name"); name != "" {
		return name
	}
	if name := c.user(); name != "" {
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

func wsUserInfo(c *call) error {
	return c.writeBare("clusterUserInfo", obj{{"rmLoginUser", loginUser()}, {"requestedUser", c.requested()}})
}

// wsQueueAccess says whether a user may submit to a queue or administer it.
func wsQueueAccess(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	queue, name, caller := c.args["queue"], c.q.Get("user"), c.requested()
	slot, err := v.queue(queue)
	i := -1
	if err == nil {
		i = v.configured(v.queuePath(slot))
	}
	if i < 0 || !v.conf.MayAdminister(i, caller) {
		return wsForbidden("User=" + caller + " doesn't haven access to queue=" + queue + " so it cannot check ACLs for other users.")
	}
	if name == "" {
		return wsIllegal("Null user")
	}
	kind := c.q.Get("queue-acl-type")
	if kind == "" {
		kind = "SUBMIT_APPLICATIONS"
	}
	var allowed bool
	switch kind {
	case "SUBMIT_APPLICATIONS":
		allowed = v.conf.MaySubmit(i, name)
	case "ADMINISTER_QUEUE":
		allowed = v.conf.MayAdminister(i, name)
	default:
		return wsBad("Specified queueAclType=" + kind + " is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}")
	}
	why := ""
	if !allowed {
		why = "User=" + name + " doesn't have access to queue=" + queue + " with acl-type=" + kind
	}
	return c.writeBare("rmQueueAclInfo", obj{{"allowed", strconv.FormatBool(allowed)}, {"user", name}, {"diagnostics", why}})
}

// The documents of node labels, of which there are none.

func wsLabels(c *call) error { return c.empty("nodeLabelsInfo", obj{}) }

func wsNodeToLabels(c *call) error {
	return c.empty("nodeToLabelsInfo", obj{{"nodeToLabels", nil}})
}

func wsLabelMappings(c *call) error {
	return c.empty("labelsToNodesInfo", obj{{"labelsToNodes", nil}})
}

func (c *call) empty(xmlName string, doc obj) error {
	if _, _, err := c.fork(); err != nil {
		return err
	}
	return c.writeBare(xmlName, doc)
}

func wsNodeLabels(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	id, err := yarn.ParseNodeID(c.args["id"])
	if err != nil {
		return wsIllegal("Invalid NodeId [" + c.args["id"] + "]. Expected host:port")
	}
	if v.st.Node(id) == 0 {
		return wsNotFound("nodeId, " + c.args["id"] + ", is not found")
	}
	return c.writeBare("nodeLabelsInfo", obj{})
}

// wsReservations answers as YARN does where its ReservationSystem is off.
// Reservations of containers are another thing: /v1/reservations.
func wsReservations(*call) error {
	return wsBad("Reservation is not enabled. Please enable & try again")
}

// wsSchedulerLogs answers as YARN does to a reader: it is a write there.
func wsSchedulerLogs(*call) error {
	return &remoteError{http.StatusServiceUnavailable, webApplication, ""}
}

// wsOverview is the scheduler's settings: all values are texts.
func wsOverview(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	if v.conf == nil {
		return wsNotFound("the scheduler has no queues yet")
	}
	kinds := ""
	for i, name := range v.kinds {
		if i > 0 {
			kinds += ","
		}
		if kinds += name; v.unit(i) != "" {
			kinds += " (unit=" + v.unit(i) + ")"
		}
	}
	return c.writeBare("scheduler", obj{{"schedulerType", "Capacity Scheduler"}, {"schedulingResourceType", kinds},
		{"minimumAllocation", texts(v.wsResource(v.conf.MinAlloc).doc)}, {"maximumAllocation", texts(v.wsResource(v.conf.MaxAlloc).doc)},
		{"applicationPriority", text(int64(v.conf.MaxPriority))}, {"schedulerBusy", "0"}, {"rmDispatcherEventQueueSize", "0"}, {"schedulerDispatcherEventQueueSize", "0"}})
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

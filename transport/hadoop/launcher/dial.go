package launcher

import (
	"context"
	"errors"
	"strings"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
)

// protocolName is the name of the NodeManagers' protocol in request headers.
const protocolName = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// dial is the launch of one AM, from the first call to the report.
type dial struct {
	l *Launcher
	key
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
}

// errGone means that the launch is no longer needed.
var errGone = errors.New("the AM container is not waited for any more")

// run tries until the AM runs, is refused, or is no longer needed. It reports the result to the
// leader.
func (d *dial) run() Outcome {
	log := d.l.cfg.Logger.With("attempt", d.attempt.String(), "container", d.number)
	for try := 1; ; try++ {
		err := d.try()
		var no *refusal
		switch {
		case err == nil:
			log.Info("ApplicationMaster launched", "tries", try)
			return d.report(&input.AttemptLaunched{Attempt: d.attempt, Container: d.number}, Launched)
		case errors.Is(err, errGone) || d.ctx.Err() != nil:
			log.Debug("launch dropped", "tries", try)
			return Dropped
		case errors.As(err, &no) && !no.later:
			log.Warn("ApplicationMaster not launched", "tries", try, "error", err)
			return d.failed(err, false)
		case d.pastDeadline():
			log.Warn("node not reached, ApplicationMaster not launched", "tries", try, "error", err)
			return d.failed(err, true)
		}
		log.Debug("launch will be tried again", "tries", try, "error", err)
		wait(d.ctx, d.l.cfg.RetryInterval)
	}
}

// pastDeadline reports whether the next try would be after MaxWait.
func (d *dial) pastDeadline() bool {
	limit := d.l.cfg.MaxWait
	return limit > 0 && time.Since(d.began)+d.l.cfg.RetryInterval > limit
}

// try makes one call according to the present state. It waits for a slot, and holds it only during
// the call.
func (d *dial) try() error {
	select {
	case d.l.slots <- struct{}{}:
		defer func() { <-d.l.slots }()
	case <-d.ctx.Done():
		return errGone
	}
	o, err := d.l.order(d.l.cfg.Reader.Fork(), d.key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.ctx, d.l.cfg.CallTimeout)
	defer cancel()
	// The token's service is informative. If the address cannot be resolved now, it contains the
	// host name.
	_ = d.l.cfg.Services.Learn(ctx, o.node.Host)
	to, err := o.target(d.l.cfg.Services)
	if err != nil {
		return err
	}
	request, err := o.request(d.l.cfg.Services, time.Now().Add(d.l.cfg.TokenLife).UnixMilli())
	if err != nil {
		return err
	}
	reply := new(proto.StartContainersResponseProto)
	return judge(d.l.cfg.Client.Call(ctx, to, "startContainers", request, reply), reply, o.id)
}

// failed reports that the AM could not be started.
func (d *dial) failed(err error, nodeFault bool) Outcome {
	o := Refused
	if nodeFault {
		o = Unreachable
	}
	return d.report(&input.AttemptLaunchFailed{Attempt: d.attempt, Container: d.number, NodeFault: nodeFault,
		Diagnostics: cut(err.Error())}, o)
}

// report sends the result to the leader, and repeats it while this replica leads. If the next
// leader does not have it, that leader starts the AM again and gets the same result.
func (d *dial) report(in input.Input, o Outcome) Outcome {
	for {
		reply, _, err := d.l.cfg.Submitter.Do(d.ctx, input.Request{Input: in})
		switch {
		case err == nil && reply.Refused() != nil:
			d.l.cfg.Logger.Debug("report of a launch refused", "attempt", d.attempt.String(), "error", reply.Refused())
			return o
		case err == nil:
			return o
		case d.ctx.Err() != nil:
			return Dropped
		}
		d.l.cfg.Logger.Debug("launch not reported, will be told again", "attempt", d.attempt.String(), "error", err)
		wait(d.ctx, d.l.cfg.Pause)
	}
}

// diagnosticsMax limits the stored text of a failure, in bytes.
const diagnosticsMax = 8 << 10

func cut(s string) string {
	if len(s) > diagnosticsMax {
		s = s[:diagnosticsMax] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/sleep"
)

func clusterInit() verb {
	return verb{
		name: "init", usage: "create a cluster with the replica at --addr as its first member", flags: []cli.Flag{
			fill(files, &cli.StringFlag{Name: "queues", Usage: "Hadoop file or directory with the first queue configuration", DefaultText: "the replica's own files"}),
			&cli.StringFlag{Name: "cluster-id", Usage: "id of the new cluster", DefaultText: "random"},
			dryRunFlag(),
		},
		examples: []string{"rmd cluster init --addr rm1:8088 --queues capacity-scheduler.xml"},
		run: func(c *call) error {
			cl, err := c.singleClient()
			if err != nil {
				return err
			}
			req := api.InitRequest{ClusterID: c.String("cluster-id"), DryRun: c.Bool("dry-run")}
			if file := c.String("queues"); file != "" {
				props, err := readProperties(file)
				if err != nil {
					return err
				}
				req.Properties = asMap(props)
			}
			a, err := cl.Post(c.ctx(), "/v1/cluster:init", req)
			if err != nil {
				return err
			}
			var d api.InitReply
			if err := a.Decode(&d); err != nil {
				return err
			}
			if d.DryRun {
				return showDone(c, a, d.ID, "%s at %s can create a cluster", d.ID, d.Address)
			}
			return showDone(c, a, d.ClusterID, "created cluster %s with %s at %s", d.ClusterID, d.ID, d.Address)
		},
	}
}

func tokenCreate() verb {
	return verb{
		name: "create", usage: "create a token with which one replica can join, once", flags: []cli.Flag{
			oneOf(&cli.StringFlag{Name: "role", Usage: "; autopilot promotes a healthy voter", Value: "voter"}, plainWords("voter", "nonvoter")...),
			spanFlag("ttl", "validity; at most 24h", time.Hour),
		},
		examples: []string{"(umask 077; rmd cluster token create --ttl 1h > token)"},
		run: func(c *call) error {
			role := c.String("role")
			cl, err := c.client()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.ctx(), "/v1/cluster/tokens", api.TokenRequest{Role: role, TTL: api.Duration(c.span("ttl").Duration)})
			if err != nil {
				return err
			}
			var d api.Token
			if err := a.Decode(&d); err != nil {
				return err
			}
			c.printMessage("valid for one %s until %s; it is not shown again", d.Role, output.Time(d.ExpiresMillis))
			if f := c.format(); f == output.Table || f == output.Wide {
				_, err := fmt.Fprintln(c.p.Out, d.Token) // data, so also with --quiet
				return err
			}
			return showDone(c, a, d.Token, "%s", d.Token)
		},
	}
}

func clusterJoin() verb {
	return verb{
		name: "join", usage: "join the replica at --addr to a cluster", args: "PEER…", min: 1, max: -1,
		long: "PEER is the peer address (port 8034) of any member of the cluster. You may name several.\nAutopilot makes the new replica a voter after it has been healthy for some time.",
		flags: []cli.Flag{
			fill(files, &cli.StringFlag{Name: "token-file", Usage: "file with the join token; \"-\" reads stdin"}),
			&cli.BoolFlag{Name: "wait", Usage: "wait until the replica has caught up and, with a token for a voter, votes; at most 5m"},
			dryRunFlag(),
		},
		examples: []string{"rmd cluster join 10.0.0.11:8034 --token-file token --addr rm4:8088"},
		run: func(c *call) error {
			token, err := c.token()
			if err != nil {
				return err
			}
			for _, leader := range c.Args().Slice() {
				if _, _, err := net.SplitHostPort(leader); err != nil {
					return clierr.Usagef("write the peer address of a replica, such as 10.0.0.11:8034", "%q is not HOST:PORT", leader)
				}
			}
			cl, err := c.singleClient()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.ctx(), "/v1/cluster:join", api.JoinRequest{Leaders: c.Args().Slice(), Token: token, DryRun: c.Bool("dry-run")})
			if err != nil {
				return err
			}
			var d api.JoinReply
			if err := a.Decode(&d); err != nil {
				return err
			}
			if d.DryRun {
				return showDone(c, a, d.ID, "%s can join cluster %s", d.ID, d.ClusterID)
			}
			if !c.Bool("wait") {
				return showDone(c, a, d.ID, "%s joined cluster %s; it does not vote yet", d.ID, d.ClusterID)
			}
			votes, err := c.awaitMember(cl, d)
			if err != nil {
				return err
			}
			return showDone(c, a, d.ID, "%s joined cluster %s and has caught up; it %s", d.ID, d.ClusterID, votes)
		},
	}
}

// joinMost limits --wait. Autopilot makes a replica a voter only after the replica has been healthy
// for some time.
const joinMost = 5 * time.Minute

// awaitMember waits until the called replica has caught up, and is a voter if it joined as one.
func (c *call) awaitMember(cl *client.Client, joined api.JoinReply) (votes string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx(), joinMost)
	defer cancel()
	for {
		ready := false
		why := "it has not caught up"
		if _, err := cl.Plain(ctx, "/v1/ready"); err == nil {
			ready, why = true, "it does not vote yet"
		} else if ctx.Err() == nil {
			why += ": " + err.Error()
		}
		if ready {
			switch d, err := cl.Cluster(ctx); {
			case !joined.Voter:
				return "is a non-voter", nil
			case err == nil && slices.ContainsFunc(d.Members, func(m api.Member) bool { return m.ID == joined.ID && m.Voter && !m.Pending }):
				return "votes", nil
			}
		}
		if !sleep.For(ctx, 200*time.Millisecond) {
			if c.ctx().Err() != nil {
				return "", c.ctx().Err()
			}
			return "", clierr.New(clierr.CodeTimedOut, "see \"rmd cluster status\"", "%s joined, and after %s %s", joined.ID, joinMost, why)
		}
	}
}

// token reads the join token. It is never on the command line, where other users could see it.
func (c *call) token() (string, error) {
	file := c.String("token-file")
	if file == "" {
		return "", clierr.Usagef("write --token-file FILE; \"rmd cluster token create\" creates a token", "a join needs a token")
	}
	if file == "-" {
		b, err := readAll(c.p.In, 4096)
		return strings.TrimSpace(string(b)), err
	}
	c.warnReadable(file)
	b, err := readFile(file, tokenMax)
	return strings.TrimSpace(string(b)), err
}

// memberChange returns the command that promotes or demotes a replica.
func memberChange(op string) verb {
	v := verb{name: op, args: "ID", min: 1, max: 1, examples: []string{"rmd cluster " + op + " rm4"}, complete: []source{replicas}}
	done := "is a voter now"
	v.usage = "make a non-voter a voter"
	if op == "promote" {
		v.flags = []cli.Flag{&cli.Uint64Flag{Name: "max-lag", Usage: "maximum number of entries that it may lag", Value: 100}}
	} else {
		v.usage, done = "make a voter a non-voter", "is a non-voter now"
	}
	v.run = func(c *call) error {
		return c.changeMember(c.arg(0), op, api.MemberRequest{MaxLag: c.Uint64("max-lag")}, "%s %s", c.arg(0), done)
	}
	return v
}

// madeAlready has the error codes with which a replica refuses a change that was already made.
var madeAlready = map[string]string{"remove": "NO_SUCH_REPLICA", "promote": "ALREADY_VOTER", "demote": "NOT_A_VOTER"}

// changeMember sends a change of the membership. If the called replica or the leader dies, the next
// replica tells whether the change was made.
func (c *call) changeMember(id, op string, req api.MemberRequest, format string, args ...any) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	r := client.Request{Method: http.MethodPost, Path: memberPath(id, op), Body: body, ContentType: "application/json", Made: madeAlready[op]}
	if req.DryRun {
		r.Made = ""
	}
	a, err := cl.Do(c.ctx(), r)
	if err != nil {
		return err
	}
	if req.DryRun {
		return c.showChange(a, id, op)
	}
	return showDone(c, a, id, format, args...)
}

// showChange prints the membership that a change would leave.
func (c *call) showChange(a *client.Answer, id, op string) error {
	var d api.MemberChange
	if err := a.Decode(&d); err != nil {
		return err
	}
	after := ""
	if v := d.After; v != nil {
		after = fmt.Sprintf("; then %d of %d voters are healthy, %d are needed, and the cluster can lose %d", v.HealthyVoters, v.Voters, v.Quorum, v.CanLose)
		if v.CanLose == 0 {
			after += ": the loss of any voter would stop it"
		}
	}
	return showDone(c, a, id, "%s can be %sd%s", id, op, after)
}

func memberPath(id, op string) string {
	return "/v1/cluster/members/" + url.PathEscape(id) + ":" + op
}

func clusterRemove() verb {
	return verb{
		name: "remove", usage: "remove a replica from the cluster permanently", args: "ID", min: 1, max: 1,
		long: "It needs a leader. A removed replica does not start again with its data.",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "even if the cluster loses its majority of healthy voters"},
			dryRunFlag(), yesFlag(),
		},
		examples: []string{"rmd cluster remove rm4 --dry-run", "rmd cluster remove rm4 --yes"},
		complete: []source{replicas},
		run: func(c *call) error {
			id := c.arg(0)
			if !c.Bool("dry-run") {
				what := "remove replica %s permanently"
				if c.Bool("force") {
					what += ", even if the cluster loses its majority"
				}
				if err := c.confirm(id, what, id); err != nil {
					return err
				}
			}
			return c.changeMember(id, "remove", api.MemberRequest{Force: c.Bool("force"), DryRun: c.Bool("dry-run")}, "removed %s", id)
		},
	}
}

package admin

import (
	"cmp"
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
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/sleep"
)

func clusterInit() verb.Verb {
	return verb.Verb{
		Name: "init", Usage: "create a cluster with the replica at --addr as its first member", Flags: []cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "queues",
				Usage: "Hadoop file or directory with the first queue configuration", DefaultText: "the replica's own files"}),
			&cli.StringFlag{Name: "cluster-id", Usage: "id of the new cluster", DefaultText: "random"},
			verb.DryRunFlag(),
		},
		Changes:  true,
		Examples: []string{"rmd cluster init --addr rm1:8088 --queues capacity-scheduler.xml"},
		Run: func(c *verb.Call) error {
			cl, err := c.SingleClient()
			if err != nil {
				return err
			}
			req := api.InitRequest{ClusterID: c.String("cluster-id"), DryRun: c.Bool("dry-run")}
			if file := c.String("queues"); file != "" {
				props, err := conf.ReadProperties(file)
				if err != nil {
					return err
				}
				req.Properties = conf.AsMap(props)
			}
			a, err := cl.Post(c.Ctx(), "/v1/cluster:init", req)
			if err != nil {
				return err
			}
			var d api.InitReply
			if err := a.Decode(&d); err != nil {
				return err
			}
			if d.DryRun {
				return verb.ShowDone(c, a, d.ID, "%s at %s can create a cluster", d.ID, d.Address)
			}
			return verb.ShowDone(c, a, d.ClusterID, "created cluster %s with %s at %s", cmp.Or(d.Name, d.ClusterID), d.ID, d.Address)
		},
	}
}

func tokenCreate() verb.Verb {
	return verb.Verb{
		Name: "create", Usage: "create a token with which one replica can join, once", Flags: []cli.Flag{
			verb.OneOf(&cli.StringFlag{Name: "role", Usage: "; autopilot promotes a healthy voter", Value: "voter"},
				verb.PlainWords("voter", "nonvoter")...),
			verb.SpanFlag("ttl", "validity; at most 24h", time.Hour),
		},
		Changes:  true,
		Examples: []string{"(umask 077; rmd cluster token create --ttl 1h > token)"},
		Run: func(c *verb.Call) error {
			role := c.String("role")
			cl, err := c.Client()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/cluster/tokens",
				api.TokenRequest{Role: role, TTL: api.Duration(c.Span("ttl"))})
			if err != nil {
				return err
			}
			var d api.Token
			if err := a.Decode(&d); err != nil {
				return err
			}
			c.PrintMessage("valid for one %s until %s; it is not shown again", d.Role, output.Time(d.ExpiresMillis))
			if f := c.Format(); f == output.Table || f == output.Wide {
				_, err := fmt.Fprintln(c.Program.Out, d.Token) // data, so also with --quiet
				return err
			}
			return verb.ShowDone(c, a, d.Token, "%s", d.Token)
		},
	}
}

func clusterJoin() verb.Verb {
	return verb.Verb{
		Name: "join", Usage: "join the replica at --addr to a cluster", Args: "PEER…", Min: 1, Max: -1,
		Long: "PEER is the peer address (port 8034) of any member of the cluster. You may name several.\nAutopilot makes the new replica a voter after it has been healthy for some time.",
		Flags: []cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "token-file", Usage: "file with the join token; \"-\" reads stdin"}),
			&cli.BoolFlag{Name: "wait",
				Usage: "wait until the replica has caught up and, with a token for a voter, votes; at most 5m"},
			verb.DryRunFlag(),
		},
		Changes:  true,
		Examples: []string{"rmd cluster join 10.0.0.11:8034 --token-file token --addr https://rm4:8090"},
		Run: func(c *verb.Call) error {
			token, err := token(c)
			if err != nil {
				return err
			}
			for _, leader := range c.Args().Slice() {
				if _, _, err := net.SplitHostPort(leader); err != nil {
					return clierr.Usagef("write the peer address of a replica, such as 10.0.0.11:8034", "%q is not HOST:PORT", leader)
				}
			}
			cl, err := c.SingleClient()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/cluster:join",
				api.JoinRequest{Leaders: c.Args().Slice(), Token: token, DryRun: c.Bool("dry-run")})
			if err != nil {
				return err
			}
			var d api.JoinReply
			if err := a.Decode(&d); err != nil {
				return err
			}
			name := cmp.Or(d.Name, d.ClusterID) // a replica of 1.0 does not say the name
			if d.DryRun {
				return verb.ShowDone(c, a, d.ID, "%s can join cluster %s", d.ID, name)
			}
			if !c.Bool("wait") {
				return verb.ShowDone(c, a, d.ID, "%s joined cluster %s; it does not vote yet", d.ID, name)
			}
			votes, err := awaitMember(c, cl, d)
			if err != nil {
				return err
			}
			return verb.ShowDone(c, a, d.ID, "%s joined cluster %s and has caught up; it %s", d.ID, name, votes)
		},
	}
}

// joinMost limits --wait. Autopilot makes a replica a voter only after the replica has been healthy
// for some time.
const joinMost = 5 * time.Minute

// awaitMember waits until the called replica has caught up, and is a voter if it joined as one.
func awaitMember(c *verb.Call, cl *client.Client, joined api.JoinReply) (votes string, err error) {
	ctx, cancel := context.WithTimeout(c.Ctx(), joinMost)
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
			case err == nil && slices.ContainsFunc(d.Members,
				func(m api.Member) bool { return m.ID == joined.ID && m.Voter && !m.Pending }):
				return "votes", nil
			}
		}
		if !sleep.For(ctx, 200*time.Millisecond) {
			if c.Ctx().Err() != nil {
				return "", c.Ctx().Err()
			}
			return "", clierr.New(clierr.CodeTimedOut, "see \"rmd cluster status\"", "%s joined, and after %s %s", joined.ID,
				joinMost, why)
		}
	}
}

// token reads the join token. It is never on the command line, where other users could see it.
func token(c *verb.Call) (string, error) {
	file := c.String("token-file")
	if file == "" {
		return "", clierr.Usagef("write --token-file FILE; \"rmd cluster token create\" creates a token",
			"a join needs a token")
	}
	if file == "-" {
		b, err := verb.ReadAll(c.Program.In, 4096)
		return strings.TrimSpace(string(b)), err
	}
	c.WarnReadable(file)
	b, err := verb.ReadFile(file, verb.TokenMax)
	return strings.TrimSpace(string(b)), err
}

// memberChange returns the command that promotes or demotes a replica.
func memberChange(op string) verb.Verb {
	v := verb.Verb{Name: op, Args: "ID", Min: 1, Max: 1, Changes: true,
		Examples: []string{"rmd cluster " + op + " rm4"}, Complete: []verb.Source{verb.Replicas}}
	done := "is a voter now"
	v.Usage = "make a non-voter a voter"
	if op == "promote" {
		v.Flags = []cli.Flag{&cli.Uint64Flag{Name: "max-lag", Usage: "maximum number of entries that it may lag", Value: 100}}
	} else {
		v.Usage, done = "make a voter a non-voter", "is a non-voter now"
	}
	v.Run = func(c *verb.Call) error {
		return changeMember(c, c.Arg(0), op, api.MemberRequest{MaxLag: c.Uint64("max-lag")}, "%s %s", c.Arg(0), done)
	}
	return v
}

// madeAlready has the error codes with which a replica refuses a change that was already made.
var madeAlready = map[string]string{"remove": "NO_SUCH_REPLICA", "promote": "ALREADY_VOTER", "demote": "NOT_A_VOTER"}

// changeMember sends a change of the membership. If the called replica or the leader dies, the next
// replica tells whether the change was made.
func changeMember(c *verb.Call, id, op string, req api.MemberRequest, format string, args ...any) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	r := client.Request{Method: http.MethodPost, Path: memberPath(id, op), Body: body, ContentType: "application/json",
		Made: madeAlready[op]}
	if req.DryRun {
		r.Made = ""
	}
	a, err := cl.Do(c.Ctx(), r)
	if err != nil {
		return err
	}
	if req.DryRun {
		return showChange(c, a, id, op)
	}
	return verb.ShowDone(c, a, id, format, args...)
}

// showChange prints the membership that a change would leave.
func showChange(c *verb.Call, a *client.Answer, id, op string) error {
	var d api.MemberChange
	if err := a.Decode(&d); err != nil {
		return err
	}
	after := ""
	if v := d.After; v != nil {
		after = fmt.Sprintf("; then %d of %d voters are healthy, %d are needed, and the cluster can lose %d", v.HealthyVoters,
			v.Voters, v.Quorum, v.CanLose)
		if v.CanLose == 0 {
			after += ": the loss of any voter would stop it"
		}
	}
	return verb.ShowDone(c, a, id, "%s can be %sd%s", id, op, after)
}

func memberPath(id, op string) string {
	return "/v1/cluster/members/" + url.PathEscape(id) + ":" + op
}

func clusterRemove() verb.Verb {
	return verb.Verb{
		Name: "remove", Usage: "remove a replica from the cluster permanently", Args: "ID", Min: 1, Max: 1,
		Long: "It needs a leader. A removed replica does not start again with its data.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "even if the cluster loses its majority of healthy voters"},
			verb.DryRunFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd cluster remove rm4 --dry-run", "rmd cluster remove rm4 --yes"},
		Complete: []verb.Source{verb.Replicas},
		Run: func(c *verb.Call) error {
			id := c.Arg(0)
			if !c.Bool("dry-run") {
				what := "remove replica %s permanently"
				if c.Bool("force") {
					what += ", even if the cluster loses its majority"
				}
				check := c.Accepted(memberPath(id, "remove"), api.MemberRequest{Force: c.Bool("force"), DryRun: true})
				if err := c.ConfirmIf(check, id, what, id); err != nil {
					return err
				}
			}
			err := changeMember(c, id, "remove", api.MemberRequest{Force: c.Bool("force"), DryRun: c.Bool("dry-run")},
				"removed %s", id)
			if err == nil && !c.Bool("dry-run") {
				c.PrintMessage("if %s does not come back, take it out of the files of \"rmd init\": rmd init --dir DIR --remove %s",
					id, id)
			}
			return err
		},
	}
}

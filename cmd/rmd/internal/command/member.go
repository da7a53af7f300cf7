package command

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/transport/http/v1/api"
)

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "only check; change nothing"}
}

func (p *program) clusterInit() verb {
	return verb{
		name: "init", usage: "start a new cluster from the replica at --addr", flags: []cli.Flag{
			&cli.StringFlag{Name: "queues", Usage: "a Hadoop file or directory with the first queues", DefaultText: "the replica's own files"},
			&cli.StringFlag{Name: "cluster-id", Usage: "the new cluster's id", DefaultText: "drawn"},
			dryRunFlag(),
		},
		run: func(c *call) error {
			cl, err := c.only()
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
				return showDone(c, a, d.ID, "%s at %s could start a new cluster", d.ID, d.Address)
			}
			return showDone(c, a, d.ClusterID, "cluster %s has begun with %s at %s", d.ClusterID, d.ID, d.Address)
		},
	}
}

func (p *program) tokenCreate() verb {
	return verb{
		name: "create", usage: "make a token that lets one replica join, once", flags: []cli.Flag{
			&cli.StringFlag{Name: "role", Usage: "voter|nonvoter; a voter may be promoted by autopilot", Value: "voter"},
			spanFlag("ttl", "how long it may be used; at most 24h", time.Hour),
		},
		run: func(c *call) error {
			role := c.String("role")
			if role != "voter" && role != "nonvoter" {
				return clierr.Usagef("write --role voter or --role nonvoter", "%q is not a role", role)
			}
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
			c.say("for one %s, until %s; it is shown this once", d.Role, output.Time(d.ExpiresMillis))
			if f := c.format(); f == output.Table || f == output.Wide {
				_, err := fmt.Fprintln(c.p.Out, d.Token) // data: also with --quiet
				return err
			}
			return showDone(c, a, d.Token, "%s", d.Token)
		},
	}
}

func (p *program) clusterJoin() verb {
	return verb{
		name: "join", usage: "have the replica at --addr join a cluster", args: "LEADER…", min: 1, max: -1,
		long: "LEADER is the peer address (port 8034) of any replica of the cluster; several may be named.\nA new replica does not vote until autopilot has seen it healthy for a while.",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "token-file", Usage: "a file with the token; \"-\" reads it from stdin"},
			dryRunFlag(),
		},
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
			cl, err := c.only()
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
				return showDone(c, a, d.ID, "%s could join cluster %s", d.ID, d.ClusterID)
			}
			return showDone(c, a, d.ID, "%s is in cluster %s, without a vote yet", d.ID, d.ClusterID)
		},
	}
}

// token reads the join token; it never stands on the command line, where others
// could see it.
func (c *call) token() (string, error) {
	file := c.String("token-file")
	if file == "" {
		return "", clierr.Usagef("write --token-file FILE; \"rmd cluster token create\" makes one", "a join needs a token")
	}
	if file == "-" {
		b, err := readAll(c.p.In, 4096)
		return strings.TrimSpace(string(b)), err
	}
	b, err := os.ReadFile(file)
	return strings.TrimSpace(string(b)), err
}

// memberChange promotes or demotes.
func (p *program) memberChange(op string) verb {
	v := verb{name: op, args: "ID", min: 1, max: 1}
	done := "votes now"
	v.usage = "give a replica its vote"
	if op == "promote" {
		v.flags = []cli.Flag{&cli.Uint64Flag{Name: "max-lag", Usage: "how many entries it may be behind", Value: 100}}
	} else {
		v.usage, done = "take a replica's vote away; it goes on following", "does not vote any more"
	}
	v.run = func(c *call) error {
		return c.changeMember(c.arg(0), op, api.MemberRequest{MaxLag: c.Uint64("max-lag")}, "%s %s", c.arg(0), done)
	}
	return v
}

// madeAlready are the refusals of a change that is made already.
var madeAlready = map[string]string{"remove": "NO_SUCH_REPLICA", "promote": "ALREADY_VOTER", "demote": "NOT_A_VOTER"}

// changeMember asks for a change of the membership. When the replica that was asked, or the leader, dies meanwhile,
// the next one tells whether it was made.
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
	return showDone(c, a, id, format, args...)
}

func memberPath(id, op string) string {
	return "/v1/cluster/members/" + url.PathEscape(id) + ":" + op
}

func (p *program) clusterRemove() verb {
	return verb{
		name: "remove", usage: "remove a replica from the cluster for good", args: "ID", min: 1, max: 1,
		long: "Its disk must be wiped before the same machine may join anew.",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "also when the majority of healthy voters would be lost"},
			dryRunFlag(), yesFlag(),
		},
		run: func(c *call) error {
			id := c.arg(0)
			if !c.Bool("dry-run") {
				what := "replica %s is removed for good"
				if c.Bool("force") {
					what += ", even if the cluster loses its majority"
				}
				if err := c.confirm(id, what, id); err != nil {
					return err
				}
			}
			done := "%s is removed"
			if c.Bool("dry-run") {
				done = "%s could be removed"
			}
			return c.changeMember(id, "remove", api.MemberRequest{Force: c.Bool("force"), DryRun: c.Bool("dry-run")}, done, id)
		},
	}
}

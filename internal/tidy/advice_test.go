package tidy

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// costly matches advice that can cost data, if someone follows it at the wrong moment.
var costly = regexp.MustCompile(`(?i)\bwip(e|es|ing)\b|--force\b|--overwrite\b|--replace-state\b|rmd cluster (remove|init)\b|rmd recover\b|remove what|delete (its|the) (data|disk)|empty disk|new identity`)

// advice lists the texts of the product that match costly, by file and the beginning of the text,
// with the condition under which a user sees it, and why it costs nothing then.
var advice = map[string]map[string]string{
	"cluster/advice.go": {
		"; if that is lost, rmd cluster remove": "there is a leader, so a majority has the data; the disk that is not there comes first",
		`%s"rmd cluster remove %s", wipe`:       "needsLeader precedes it: a majority has the data",
		"wipe its data directory, and join":     "needsLeader precedes it: a majority has the data",
	},
	"cluster/bootstrap.go": {
		"start the others; if this replica lost": "init of a replica without state; the removal needs a leader",
	},
	"cluster/change.go": {
		"start or repair that replica first": "a removal that costs the majority; it comes after what repairs, and says what it risks",
	},
	"cluster/offline/create.go": {
		"name another one, or remove": "an import into a directory that is not empty; only if no cluster needs it",
	},
	"cluster/join.go": {
		"choose another id; if the new":    "the id is taken; the removal needs a leader, and a lost disk",
		"use another address; if the new":  "the address is taken; the removal needs a leader, and a lost disk",
		"stop the one that runs on a copy": "two processes have one identity; only the copy gets an empty disk",
	},
	"cluster/membership.go": {
		"a peer refuses this replica: another": "two processes have one identity; only the copy gets an empty disk",
	},
	"cluster/offline/recover.go": {
		"name only %s, start it, and join the": "a recovery with several members; the disks of the others are of before it",
	},
	"cmd/rmd/internal/command/admin/member.go": {
		"rmd cluster init --addr": "an example in the help of the command",
		"rmd cluster remove rm4":  "an example in the help of the command",
	},
	"cmd/rmd/internal/command/admin/snapshot.go": {
		"choose another name, or use --overwrite": "the file exists; a snapshot without state, of another cluster or older than the file is refused",
		"It restores into a new cluster, or with": "the help of the command, which needs the cluster's id and a confirmation",
	},
	"cmd/rmd/internal/command/replica/init.go": {
		"first replica only:": "rmd init has just written the first configuration",
	},
	"cmd/rmd/internal/command/replica/init_remove.go": {
		"rmd cluster remove %s": "it follows the command that waits until the replacement votes",
	},
	"cmd/rmd/internal/command/replica/offline.go": {
		"rmd recover --data /var/lib": "an example in the help of the command, with --dry-run",
	},
	"config/settings.go": {
		"create the cluster when this many": "the description of a setting",
	},
	"scheduler/planner/token/access.go": {
		"make one of role admin first": "it gives up access, no data; certificates of administrators stay valid",
	},
	"server/backup.go": {
		"restore into a fresh cluster; to give": "a restore into a cluster with state; the command needs the cluster's id and a confirmation",
	},
	"transport/http/problem/problem.go": {
		"; run \"rmd cluster init": "the replica is not a member; an init is refused if a listed peer has state, or with bootstrap_expect",
	},
}

// TestAdvice checks that every text that can cost data is in the table, so that somebody has
// thought about the moment in which it is read.
func TestAdvice(t *testing.T) {
	found := map[string]map[string]bool{}
	for _, f := range loadModule(t).production() {
		if !asksUsers(f.path) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !costly.MatchString(text) {
				return true
			}
			for begins := range advice[f.path] {
				if strings.HasPrefix(text, begins) {
					if found[f.path] == nil {
						found[f.path] = map[string]bool{}
					}
					found[f.path][begins] = true
					return true
				}
			}
			t.Errorf("%s: %q can cost data: say when it does not, use cluster.Replace or cluster.Rejoin, and list it in advice with the condition", f.path, text)
			return true
		})
	}
	for file, texts := range advice {
		for begins := range texts {
			if !found[file][begins] {
				t.Errorf("%s: no text begins with %q any more", file, begins)
			}
		}
	}
}

// asksUsers reports whether a file's texts are messages to users of the product. Flags, examples and
// names of commands are what the user asked for.
func asksUsers(path string) bool {
	for _, dir := range []string{"cluster/", "server/", "transport/", "client/", "config/", "scheduler/input/",
		"scheduler/planner/", "cmd/rmd/internal/command/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// condition matches what makes advice safe to read: when to follow it.
var condition = regexp.MustCompile(
	`(?i)\bif\b|\bonly\b|\bwhile\b|\bwhen\b|\bafter\b|\bbefore\b|\blost\b|\bnever\b|\bdo not\b|refuse`)

// TestAdviceInPages checks that a paragraph or a row of a user's page that proposes to wipe a disk
// says under which condition.
func TestAdviceInPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/operations/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	wipe := regexp.MustCompile(`(?i)\bwip(e|ed|es|ing)\b`)
	for _, page := range pages {
		src, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range regexp.MustCompile(`\n\n|\n\||\n[*\d]`).Split(string(src), -1) {
			if heading := strings.HasPrefix(part, "#") && !strings.Contains(part, "\n"); !heading && wipe.MatchString(part) &&
				!condition.MatchString(part) {
				t.Errorf("%s proposes to wipe a disk and does not say when this costs nothing:\n%s", page, part)
			}
		}
	}
}

package conf

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/internal/hadoopconf"
	"rmd/internal/nearest"
	"rmd/scheduler/capacity"
	hadoopserver "rmd/server/hadoop"
	"rmd/transport/hadoop"
)

// ReadProperties reads a queue configuration from a Hadoop file, a directory of Hadoop files, or a
// JSON document with properties.
func ReadProperties(path string) ([]capacity.Property, error) {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return readJSONProperties(path)
	}
	conf, err := ReadHadoop(path)
	if err != nil {
		return nil, err
	}
	return hadoopserver.Properties(conf), nil
}

// ReadHadoop reads a Hadoop file, or a directory of them.
func ReadHadoop(path string) (*hadoopconf.Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var conf *hadoopconf.Config
	if info.IsDir() {
		conf, err = hadoopconf.ReadDir(path)
	} else {
		conf, err = hadoopconf.Read(path)
	}
	var many *hadoopconf.Error
	if errors.As(err, &many) {
		e := clierr.New(clierr.CodeConfig, "correct it", "%s cannot be read as a Hadoop configuration", path)
		for _, f := range many.Faults {
			e.Details = append(e.Details, f.String())
		}
		return nil, e
	}
	return conf, err
}

func readJSONProperties(path string) ([]capacity.Property, error) {
	b, err := verb.ReadFile(path, verb.BodyMax)
	if err != nil {
		return nil, err
	}
	var d api.PutConf
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, clierr.New(clierr.CodeConfig, "write {\"properties\": {\"KEY\": \"VALUE\"}}", "%s: %v", path, err)
	}
	var out []capacity.Property
	for _, name := range verb.Sorted(d.Properties) {
		out = append(out, capacity.Property{Name: name, Value: d.Properties[name], Origin: path})
	}
	return out, nil
}

// AsMap returns properties as documents of REST have them.
func AsMap(props []capacity.Property) map[string]string {
	out := make(map[string]string, len(props))
	for _, p := range props {
		out[p.Name] = p.Value
	}
	return out
}

// JudgeHere validates a file without a cluster.
func JudgeHere(path string) (api.Validation, error) {
	v, err := judgeQueues(path)
	if err != nil || strings.EqualFold(filepath.Ext(path), ".json") {
		return v, err
	}
	if err := addIgnored(&v, path); err != nil {
		return v, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, f := range config.CheckHadoop(path) {
			v.Valid = false
			v.Faults = append(v.Faults, api.Fault{Origin: f.At.String(), What: f.What, Do: f.Do})
		}
	}
	v.Valid = v.Valid && !slices.ContainsFunc(v.Ignored, isFatal)
	slices.SortStableFunc(v.Ignored, func(a,
		b api.Fault) int {
		return cmp.Compare(effectRank[b.Effect], effectRank[a.Effect])
	})
	return v, nil
}

func isFatal(f api.Fault) bool { return f.Effect == hadoop.Fatal.String() }

// effectRank orders the effects; the gravest is the highest.
var effectRank = map[string]int{"": 1, hadoop.Visible.String(): 1, hadoop.Fatal.String(): 2}

func judgeQueues(path string) (api.Validation, error) {
	props, err := ReadProperties(path)
	if err != nil {
		return api.Validation{}, err
	}
	v := api.Validation{Valid: true}
	if len(props) == 0 {
		return api.Validation{Faults: []api.Fault{
			{Origin: path, What: "it contains no key of the queue configuration", Do: "name capacity-scheduler.xml"}}}, nil
	}
	conf, err := capacity.Parse(props)
	var bad *capacity.Invalid
	switch {
	case errors.As(err, &bad):
		v.Valid, v.Faults = false, faultDocs(bad.Faults)
	case err != nil:
		return v, err
	default:
		v.Warnings, v.Ignored = faultDocs(conf.Warnings), faultDocs(conf.Ignored)
	}
	return v, nil
}

func faultDocs(in []capacity.Fault) []api.Fault {
	var out []api.Fault
	for _, f := range in {
		out = append(out, api.Fault{Name: f.Name, Value: f.Value, Origin: f.Origin, What: f.What, Do: f.Do, Effect: f.Effect})
	}
	return out
}

// ApplyFlags returns the flags of the commands that write a version.
func ApplyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "comment", Aliases: []string{"m"}, Usage: "comment, stored with the version"},
		verb.Fill(verb.Versions, &cli.Uint64Flag{Name: "if-version", Usage: "only if this is the current version",
			DefaultText: "the version at the start of the command"}),
		dryRunFlag(),
	}
}

// allowFlag is of the commands that take keys from a person or a file.
func allowFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-unknown",
		Usage: "keep unknown keys that resemble known ones, and set keys of queues that do not exist, as YARN does"}
}

// statesKept describes the effect of a file on stopped queues.
const statesKept = "If the file does not state the state of a queue, the queue keeps its state, as in " +
	"YARN. If the file states it, the queue gets that state. The command lists the " +
	"stopped queues with their new state, also with --dry-run."

func confApply() verb.Verb {
	return verb.Verb{Name: "apply", Usage: "replace the configuration with a file", Args: "FILE | DIR", Min: 1, Max: 1,
		Long: statesKept, Flags: append(ApplyFlags(), allowFlag(), verb.YesFlag()),
		Examples: []string{"rmd conf apply capacity-scheduler.xml -m \"ticket 4711\"",
			"rmd conf apply queues.json --dry-run"},
		Complete: []verb.Source{verb.Files},
		Run: func(c *verb.Call) error {
			return replaceConf(c, c.Arg(0))
		}}
}

func confRefresh() verb.Verb {
	return verb.Verb{
		Name: "refresh", Usage: "replace the configuration with this machine's Hadoop files", Long: statesKept,
		Flags: append([]cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "conf-dir", Usage: "directory of Hadoop's files [$HADOOP_CONF_DIR]"}),
			allowFlag(), verb.YesFlag(),
		}, ApplyFlags()...),
		Examples: []string{"rmd conf refresh --conf-dir /etc/hadoop/conf"},
		Run: func(c *verb.Call) error {
			dir := ConfDir(c)
			if dir == "" {
				return clierr.Usagef("set HADOOP_CONF_DIR, or write --conf-dir DIR", "the directory of Hadoop's files is not set")
			}
			return replaceConf(c, dir)
		},
	}
}

// replaceConf replaces the whole configuration with that of a file or a directory.
func replaceConf(c *verb.Call, path string) error {
	props, err := ReadProperties(path)
	if err != nil {
		return err
	}
	if !c.Bool("dry-run") {
		if err := c.Confirm("apply", "replace the whole queue configuration with %s (--dry-run shows what changes)",
			path); err != nil {
			return err
		}
	}
	return putConf(c, func(api.Conf) (map[string]string, error) { return AsMap(props), nil })
}

func confSet() verb.Verb {
	return verb.Verb{
		Name: "set", Usage: "change keys; KEY= deletes a key", Args: "KEY=VALUE…", Min: 1, Max: -1,
		Flags:   append(ApplyFlags(), allowFlag()),
		Long:    "A KEY that begins with root. stands for yarn.scheduler.capacity.root.…",
		Changes: true,
		Examples: []string{"rmd conf set root.train.capacity=40 root.batch.capacity=10 -m \"more for train\"",
			"rmd conf set root.batch.maximum-capacity= --dry-run"},
		Complete: []verb.Source{verb.ConfKeysAssigned},
		Run: func(c *verb.Call) error {
			return putConf(c, func(now api.Conf) (map[string]string, error) {
				before := maps.Clone(now.Properties)
				if err := Assign(now.Properties, c.Args().Slice()); err != nil {
					return nil, err
				}
				if err := lacksQueue(before, now.Properties); err != nil && !c.Bool("allow-unknown") {
					return nil, err
				}
				asked := !c.IsSet("if-version") || c.Uint64("if-version") == now.Version
				if asked && maps.Equal(before, now.Properties) && !setsState(c.Args().Slice()) {
					return nil, nil
				}
				return now.Properties, nil
			})
		},
	}
}

// Assign applies assignments KEY=VALUE to a configuration. An empty value deletes the key.
func Assign(properties map[string]string, pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return clierr.Usagef("write KEY=VALUE", "%q is not an assignment", pair)
		}
		if strings.HasPrefix(key, "root.") {
			key = capacity.Prefix + key
		}
		if _, there := properties[key]; !there && !capacity.Relevant(key) {
			do := "write its full name; \"rmd conf get\" shows the keys that are set"
			if meant := capacity.Meant(key); meant != "" {
				do = "did you mean " + meant + "?"
			}
			return clierr.Usagef(do, "%s is not a key of the queue configuration", key)
		}
		if value == "" {
			if _, there := properties[key]; !there {
				return clierr.New("NO_SUCH_KEY", "see rmd conf get", "%s is not set", key)
			}
			delete(properties, key)
			continue
		}
		properties[key] = value
	}
	return nil
}

// lacksQueue refuses keys that an edit adds for queues that do not exist. YARN keeps such keys, which
// a whole file may have, but who sets one has mistyped the queue.
func lacksQueue(before, after map[string]string) error {
	var props []capacity.Property
	for _, name := range verb.Sorted(after) {
		props = append(props, capacity.Property{Name: name, Value: after[name]})
	}
	conf, err := capacity.Parse(props)
	if err != nil {
		return nil // the cluster says what is wrong
	}
	for _, w := range conf.Warnings {
		if _, there := before[w.Name]; there || w.NoQueue == "" {
			continue
		}
		do := w.Do
		var paths []string
		for _, q := range conf.Queues {
			paths = append(paths, q.Path)
		}
		if near := nearest.Name(w.NoQueue, paths); near != "" {
			do = "did you mean " + near + "? Otherwise " + do
		}
		return clierr.New("NO_SUCH_QUEUE", do, "%s: %s; nothing was changed", w.Name, w.What)
	}
	return nil
}

// setsState reports whether an assignment sets the state of a queue. "rmd queue stop" changes the
// state without a new version, so the configuration may not have the state in force.
func setsState(pairs []string) bool {
	return slices.ContainsFunc(pairs, func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		return strings.HasSuffix(key, ".state")
	})
}

// putConf writes a version that edit makes from the version in force. If edit returns nil, nothing
// changes. The cluster refuses the write if another version was written in the meantime.
func putConf(c *verb.Call, edit func(now api.Conf) (map[string]string, error)) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	a, err := cl.Get(c.Ctx(), "/v1/conf", nil)
	if err != nil {
		return err
	}
	var now api.Conf
	if err := a.Decode(&now); err != nil {
		return err
	}
	version := now.Version
	if c.IsSet("if-version") {
		version = c.Uint64("if-version")
	}
	props, err := edit(now)
	if err != nil {
		return err
	}
	if props == nil {
		return unchanged(c, version)
	}
	body, err := json.Marshal(api.PutConf{Properties: props, Comment: c.String("comment")})
	if err != nil {
		return err
	}
	return SendConf(c, cl, client.Request{Method: http.MethodPut, Path: "/v1/conf", Query: url.Values{}, Body: body,
		ContentType: "application/json"}, version)
}

// SendConf sends a change of the configuration and shows the result. The change applies only if the
// configuration in force has the given version. 0 means any version.
func SendConf(c *verb.Call, cl *client.Client, r client.Request, version uint64) error {
	if c.Bool("dry-run") {
		r.Query.Set("dry_run", "true")
	}
	if c.Bool("allow-unknown") {
		r.Query.Set("allow_unknown", "true")
	}
	if version != 0 || c.IsSet("if-version") {
		r.Header = http.Header{"If-Match": {`"` + strconv.FormatUint(version, 10) + `"`}}
	}
	a, err := cl.Do(c.Ctx(), r)
	if err != nil {
		var doc *api.Error
		if errors.As(err, &doc) {
			doc.Remedy = strings.ReplaceAll(doc.Remedy, "?allow_unknown", "--allow-unknown")
		}
		return err
	}
	var d api.ConfApplied
	if err := a.Decode(&d); err != nil {
		return err
	}
	for _, w := range d.Warnings {
		c.PrintMessage("warning: %s", w)
	}
	if !d.DryRun {
		return verb.ShowDone(c, a, strconv.FormatUint(d.Version, 10), "version %d is in force", d.Version)
	}
	o, err := c.Options()
	if err != nil || o.Format.Machine() {
		return errors.Join(err, verb.ShowDone(c, a, "", ""))
	}
	c.PrintMessage("valid; these keys would change:")
	return errors.Join(changeColumns.Write(c.Program.Out, d.Changes, o), writeLandings(c.Program.Out, d.Landings))
}

// unchanged shows the result of an edit that changes nothing. The configuration keeps its version.
func unchanged(c *verb.Call, version uint64) error {
	body, err := json.Marshal(api.ConfApplied{Version: version, DryRun: c.Bool("dry-run")})
	if err != nil {
		return err
	}
	return verb.ShowDone(c, &client.Answer{Body: body}, strconv.FormatUint(version, 10),
		"nothing changes; version %d stays in force", version)
}

func confRollback() verb.Verb {
	return verb.Verb{Name: "rollback", Usage: "make the content of an earlier version the newest version", Args: "VERSION",
		Min: 1, Max: 1, Flags: []cli.Flag{
			&cli.StringFlag{Name: "comment", Aliases: []string{"m"}, Usage: "comment, stored with the version"},
			dryRunFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd conf rollback 3 --dry-run", "rmd conf rollback 3 -m \"back to Friday\""},
		Complete: []verb.Source{verb.Versions},
		Run: func(c *verb.Call) error {
			to, err := strconv.ParseUint(c.Arg(0), 10, 63)
			if err != nil || to == 0 {
				return clierr.Usagef("see rmd conf history", "%q is not a version", c.Arg(0))
			}
			cl, err := c.Client()
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return tryRollback(c, cl, to)
			}
			if err := c.ConfirmIf(c.Exists("/v1/conf/versions/"+c.Arg(0)), c.Arg(0),
				"replace the queue configuration with version %d (--dry-run shows what changes)", to); err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/conf:rollback", api.Rollback{To: to, Comment: c.String("comment")})
			if err != nil {
				return err
			}
			var d api.ConfApplied
			if err := a.Decode(&d); err != nil {
				return err
			}
			return verb.ShowDone(c, a, strconv.FormatUint(d.Version, 10), "version %d is in force, equal to %d", d.Version, to)
		}}
}

// dryRunFlag is the flag of commands that would change the queue configuration.
func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "change nothing; show what would change"}
}

// tryRollback shows what a rollback to a version would change. A rollback writes the keys of the
// version without a check of their spelling, and so does this.
func tryRollback(c *verb.Call, cl *client.Client, to uint64) error {
	a, err := cl.Get(c.Ctx(), "/v1/conf/versions/"+strconv.FormatUint(to, 10), nil)
	if err != nil {
		return err
	}
	var old api.Conf
	if err := a.Decode(&old); err != nil {
		return err
	}
	body, err := json.Marshal(api.PutConf{Properties: old.Properties, Comment: c.String("comment")})
	if err != nil {
		return err
	}
	return SendConf(c, cl, client.Request{Method: http.MethodPut, Path: "/v1/conf",
		Query: url.Values{"allow_unknown": {"true"}}, Body: body, ContentType: "application/json"}, 0)
}

package conf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
	"rmd/internal/hadoopconf"
	"rmd/internal/thousands"
	"rmd/scheduler/capacity"
	"rmd/transport/hadoop"
)

// ConfVerbs returns the commands of the queue configuration.
func ConfVerbs() verb.Verb {
	return verb.Noun("conf", "the replicated, versioned queue configuration",
		confGet(), confSet(), confDiff(), confValidate(), confApply(),
		confRefresh(), confHistory(), confRollback())
}

type keyValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

var propertyColumns = output.List[keyValue]{
	Name:  func(k keyValue) string { return k.Name },
	Empty: "no keys match",
	Columns: []output.Column[keyValue]{
		{Head: "KEY", Text: func(k keyValue) string { return k.Name }},
		{Head: "VALUE", Text: func(k keyValue) string { return k.Value }, Shrink: true},
	},
}

func confGet() verb.Verb {
	return verb.Verb{
		Name: "get", Usage: "show the current configuration, or the keys that contain a word", Args: "[WORD]", Max: 1,
		Flags: append([]cli.Flag{
			verb.Fill(verb.Versions, &cli.Uint64Flag{Name: "version", Usage: "show this version", DefaultText: "the newest"}),
			&cli.BoolFlag{Name: "xml", Usage: "write a capacity-scheduler.xml, to edit, compare and apply"},
			&cli.BoolFlag{Name: "ignored",
				Usage: "show keys that rmd does not honor, in the cluster's queues and in this machine's Hadoop files"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "conf-dir",
				Usage: "with --ignored: directory of Hadoop's files [$HADOOP_CONF_DIR]"}),
		}, verb.ListFlags(propertyColumns)...),
		Examples: []string{"rmd conf get root.train", "rmd conf get --version 3 -o json", "rmd conf get --xml > queues.xml",
			"rmd conf get --ignored"},
		Complete: []verb.Source{verb.ConfKeys},
		Run: func(c *verb.Call) error {
			path := "/v1/conf"
			if c.IsSet("version") {
				path += "/versions/" + strconv.FormatUint(c.Uint64("version"), 10)
			}
			switch {
			case c.Bool("xml") && (c.Bool("ignored") || c.IsSet("output") || c.Arg(0) != ""):
				return clierr.Usagef("leave them out", "a WORD, --ignored and -o do not go with --xml")
			case c.Bool("xml"):
				return writeConfXML(c, path)
			case c.Bool("ignored"):
				return showIgnored(c)
			}
			return verb.ShowList(c, propertyColumns, func(ctx context.Context) (f verb.Fetched[keyValue], err error) {
				var d api.Conf
				f.Doc, err = c.Get(ctx, path, nil, &d)
				for _, name := range verb.Sorted(d.Properties) {
					if strings.Contains(name, c.Arg(0)) {
						f.Things = append(f.Things, keyValue{name, d.Properties[name]})
					}
				}
				f.Head = fmt.Sprintf("version %d, %s, by %s", d.Version, output.Time(d.AtMillis), authorName(d.Author))
				if d.Comment != "" {
					f.Head += ": " + d.Comment
				}
				return f, err
			})
		},
	}
}

// writeConfXML writes a version of the configuration as a capacity-scheduler.xml file.
func writeConfXML(c *verb.Call, path string) error {
	var d api.Conf
	if _, err := c.Get(c.Ctx(), path, nil, &d); err != nil {
		return err
	}
	var props []hadoopconf.Property
	for _, name := range verb.Sorted(d.Properties) {
		props = append(props, hadoopconf.Property{Name: name, Value: d.Properties[name]})
	}
	return hadoopconf.Write(c.Program.Out, props)
}

func authorName(author string) string {
	if author == "" {
		return "unknown"
	}
	return author
}

var faultColumns = output.List[api.Fault]{
	Name:  func(f api.Fault) string { return f.Name },
	Empty: "rmd honors every key",
	Columns: []output.Column[api.Fault]{
		{Head: "KEY", Text: func(f api.Fault) string { return f.Name }},
		{Head: "VALUE", Text: func(f api.Fault) string { return f.Value }, Shrink: true},
		{Head: "WHY", Text: func(f api.Fault) string { return f.What }, Shrink: true, End: true},
	},
}

// showIgnored shows the keys that the cluster ignores in its own configuration.
func showIgnored(c *verb.Call) error {
	return verb.ShowList(c, faultColumns, func(ctx context.Context) (f verb.Fetched[api.Fault], err error) {
		var d api.Conf
		if _, err = c.Get(ctx, "/v1/conf", nil, &d); err != nil {
			return f, err
		}
		cl, err := c.Client()
		if err != nil {
			return f, err
		}
		a, err := cl.Post(ctx, "/v1/conf:validate", api.PutConf{Properties: d.Properties})
		if err != nil {
			return f, err
		}
		var v api.Validation
		f.Doc, err = a.Body, a.Decode(&v)
		if dir := ConfDir(c); err == nil && dir != "" {
			if err = addIgnored(&v, dir); err == nil {
				f.Doc, err = json.Marshal(v)
			}
		}
		f.Things = v.Ignored
		return f, err
	})
}

// ConfDir returns the directory of this machine's Hadoop files, or "" if neither --conf-dir nor
// $HADOOP_CONF_DIR names it.
func ConfDir(c *verb.Call) string {
	dir := c.String("conf-dir")
	if dir == "" && c.Program.Env != nil {
		dir, _ = c.Program.Env("HADOOP_CONF_DIR")
	}
	return dir
}

// addIgnored adds the ignored keys of Hadoop's files to those of the queue configuration.
func addIgnored(v *api.Validation, dir string) error {
	conf, err := ReadHadoop(dir)
	if err != nil {
		return err
	}
	for _, k := range hadoop.IgnoredKeys(conf, capacity.Relevant) {
		v.Ignored = append(v.Ignored, IgnoredDoc(k))
	}
	return nil
}

// IgnoredDoc returns the document of a key of Hadoop's files that rmd does not honor.
func IgnoredDoc(k hadoop.Ignored) api.Fault {
	return api.Fault{Name: k.Name, Value: k.Value, Origin: k.Origin, What: k.Why, Do: k.Do, Effect: k.Effect.String()}
}

var changeColumns = output.List[api.Change]{
	Name:  func(k api.Change) string { return k.Key },
	Empty: "nothing differs",
	Columns: []output.Column[api.Change]{
		{Head: "CHANGE", Text: func(k api.Change) string { return k.Kind }},
		verb.QueueColumn(func(k api.Change) string { return k.Queue }),
		{Head: "KEY", Text: func(k api.Change) string { return k.Key }, Shrink: true},
		{Head: "OLD", Text: func(k api.Change) string { return k.Old }, Shrink: true},
		{Head: "NEW", Text: func(k api.Change) string { return k.New }, Shrink: true},
	},
}

func confDiff() verb.Verb {
	return verb.Verb{
		Name: "diff", Usage: "show what a file or a version would change", Args: "FILE | DIR | VERSION [VERSION]",
		Min: 1, Max: 2,
		Long: "A file is compared with the queues in force, and so is one version: the changes are those of \"rmd conf apply\" and \"rmd conf rollback\". " +
			"Of two versions, the second is compared with the first. With --whatif the planner applies the file's queues to a copy of the live state and " +
			"shows which queues would have more or less, and which applications would start " +
			"at once, wait, gain or lose. It changes nothing.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "whatif", Usage: "show which applications would gain, lose, wait or start at once"},
		}, verb.ListFlags(changeColumns)...),
		Examples: []string{"rmd conf diff capacity-scheduler.xml", "rmd conf diff 3 5",
			"rmd conf diff --whatif capacity-scheduler.xml"},
		Complete: []verb.Source{verb.VersionsOrFiles, verb.Versions},
		Run: func(c *verb.Call) error {
			if c.Bool("whatif") {
				return showWhatIf(c)
			}
			if _, err := strconv.ParseUint(c.Arg(0), 10, 63); err == nil || c.NArg() == 2 {
				from, to := "current", c.Arg(0) // as a rollback to it
				if c.NArg() == 2 {
					from, to = c.Arg(0), c.Arg(1)
				}
				return verb.ShowList(c, changeColumns, func(ctx context.Context) (f verb.Fetched[api.Change], err error) {
					var d api.ConfDiff
					f.Doc, err = c.Get(ctx, "/v1/conf/versions/"+url.PathEscape(from)+"/diff/"+url.PathEscape(to), nil, &d)
					f.Things = d.Changes
					return f, err
				})
			}
			return verb.ShowList(c, changeColumns, func(ctx context.Context) (f verb.Fetched[api.Change], err error) {
				v, doc, err := judge(c, ctx, c.Arg(0))
				f.Doc, f.Things = doc, v.Changes
				if err == nil && !v.Valid {
					err = invalidQueues(v)
				}
				return f, err
			})
		},
	}
}

// judge lets the cluster validate a file and compare it with the configuration in force.
func judge(c *verb.Call, ctx context.Context, file string) (v api.Validation, doc []byte, err error) {
	props, err := ReadProperties(file)
	if err != nil {
		return v, nil, err
	}
	cl, err := c.Client()
	if err != nil {
		return v, nil, err
	}
	a, err := cl.Post(ctx, "/v1/conf:validate", api.PutConf{Properties: AsMap(props)})
	if err != nil {
		return v, nil, err
	}
	return v, a.Body, a.Decode(&v)
}

func invalidQueues(v api.Validation) error {
	e := clierr.New("INVALID_QUEUES", "correct them", "the configuration has %s", thousands.Count(len(v.Faults), "fault"))
	for _, f := range v.Faults {
		e.Details = append(e.Details, FaultLine(f))
	}
	return e
}

// FaultLine returns a fault of a configuration as a line.
func FaultLine(f api.Fault) string {
	s := f.What
	if f.Name != "" {
		s = f.Name + ": " + s
	}
	if f.Origin != "" {
		s = f.Origin + ": " + s
	}
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

var versionColumns = output.List[api.ConfVersion]{
	Name:  func(v api.ConfVersion) string { return output.Number(v.Version) },
	Empty: "there is no configuration yet",
	Columns: []output.Column[api.ConfVersion]{
		{Head: "VERSION", Text: func(v api.ConfVersion) string {
			return output.Number(v.Version)
		}, Key: func(v api.ConfVersion) float64 { return float64(v.Version) }, Right: true},
		{Head: "WHEN", Text: func(v api.ConfVersion) string {
			return output.Time(v.AtMillis)
		}, Key: func(v api.ConfVersion) float64 { return float64(v.AtMillis) }},
		{Head: "CHANGES", Text: func(v api.ConfVersion) string {
			return output.Number(v.Changes)
		}, Key: func(v api.ConfVersion) float64 { return float64(v.Changes) }, Right: true},
		{Head: "AUTHOR", Text: func(v api.ConfVersion) string { return v.Author }, Shrink: true},
		{Head: "COMMENT", Text: func(v api.ConfVersion) string { return v.Comment }, Shrink: true, End: true},
		{Head: "CURRENT", Wide: true, Text: func(v api.ConfVersion) string { return output.YesNo(v.Current) }},
	},
}

func confHistory() verb.Verb {
	return verb.Verb{Name: "history", Usage: "list the versions, the newest first",
		Flags: append([]cli.Flag{
			verb.Number{IntFlag: &cli.IntFlag{Name: "limit", Usage: "maximum number of results", DefaultText: "all"}}},
			verb.ListFlags(versionColumns)...),
		Examples: []string{"rmd conf history --limit 10"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, versionColumns, func(ctx context.Context) (f verb.Fetched[api.ConfVersion], err error) {
				q := url.Values{}
				if n := c.Int("limit"); n > 0 {
					q.Set("limit", strconv.Itoa(n))
				}
				var d api.ConfVersions
				f.Doc, err = c.Get(ctx, "/v1/conf/versions", q, &d)
				f.Things = d.Versions
				return f, err
			})
		}}
}

func confValidate() verb.Verb {
	return verb.Verb{
		Name: "validate", Usage: "check a configuration; without --online it contacts no cluster", Args: "FILE | DIR",
		Min: 1, Max: 1,
		Long: "Of Hadoop's files it also lists the keys that rmd does not honor, by their effect: harmless, " +
			"visible to users, or fatal. With a fatal key no replica starts. " +
			"Of a directory it also checks the ids, hosts and ports of the replicas. " +
			"Exit 9 if the configuration is not valid, or has a fatal key.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "online",
			Usage: "also check against the cluster's queues and applications"}},
		Examples: []string{"rmd conf validate capacity-scheduler.xml", "rmd conf validate /etc/hadoop/conf --online"},
		Complete: []verb.Source{verb.Files},
		Run: func(c *verb.Call) error {
			var v api.Validation
			var doc []byte
			var err error
			if c.Bool("online") {
				v, doc, err = judge(c, c.Ctx(), c.Arg(0))
			} else if v, err = JudgeHere(c.Arg(0)); err == nil {
				doc, err = json.Marshal(v)
			}
			if err != nil {
				return err
			}
			if err := verb.ShowText(c, func(context.Context) ([]byte, func(io.Writer) error, error) {
				return doc, func(w io.Writer) error { return WriteValidation(w, c.Arg(0), v) }, nil
			}); err != nil {
				return err
			}
			if !v.Valid {
				return verb.QuietExit(exitcode.CheckFailed)
			}
			return nil
		},
	}
}

// WriteValidation prints the judgment of a configuration.
func WriteValidation(w io.Writer, file string, v api.Validation) error {
	verdict := "valid"
	if !v.Valid {
		verdict = "NOT VALID"
	}
	fatal := 0
	for _, f := range v.Ignored {
		if isFatal(f) {
			fatal++
		}
	}
	fmt.Fprintf(w, "%s: %s, %s, %s, %s not honored", file, verdict, thousands.Count(len(v.Faults), "fault"),
		thousands.Count(len(v.Warnings), "warning"), thousands.Count(len(v.Ignored), "key"))
	if fatal > 0 {
		fmt.Fprintf(w, ", %d of them fatal", fatal)
	}
	fmt.Fprintln(w)
	for _, part := range []struct {
		name   string
		faults []api.Fault
	}{{"fault", v.Faults}, {"warning", v.Warnings}, {"ignored", v.Ignored}} {
		for _, f := range part.faults {
			fmt.Fprintf(w, "%-8s %s\n", cmp.Or(f.Effect, part.name), FaultLine(f))
		}
	}
	return nil
}

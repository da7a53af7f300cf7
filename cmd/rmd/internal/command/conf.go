package command

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
	"rmd/internal/exitcode"
	"rmd/internal/hadoopconf"
	"rmd/internal/thousands"
	"rmd/scheduler/capacity"
	"rmd/transport/hadoop"
)

func confVerbs() verb {
	return noun("conf", "the replicated, versioned queue configuration",
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

func confGet() verb {
	return verb{
		name: "get", usage: "show the current configuration, or the keys that contain a word", args: "[WORD]", max: 1,
		flags: append([]cli.Flag{
			fill(versions, &cli.Uint64Flag{Name: "version", Usage: "show this version", DefaultText: "the newest"}),
			&cli.BoolFlag{Name: "xml", Usage: "write a capacity-scheduler.xml, to edit, compare and apply"},
			&cli.BoolFlag{Name: "ignored", Usage: "show keys that rmd does not honor, in the cluster's queues and in this machine's Hadoop files"},
			fill(files, &cli.StringFlag{Name: "conf-dir", Usage: "with --ignored: directory of Hadoop's files [$HADOOP_CONF_DIR]"}),
		}, listFlags(propertyColumns)...),
		examples: []string{"rmd conf get root.train", "rmd conf get --version 3 -o json", "rmd conf get --xml > queues.xml", "rmd conf get --ignored"},
		complete: []source{confKeys},
		run: func(c *call) error {
			path := "/v1/conf"
			if c.IsSet("version") {
				path += "/versions/" + strconv.FormatUint(c.Uint64("version"), 10)
			}
			switch {
			case c.Bool("xml") && (c.Bool("ignored") || c.IsSet("output") || c.arg(0) != ""):
				return clierr.Usagef("leave them out", "a WORD, --ignored and -o do not go with --xml")
			case c.Bool("xml"):
				return writeConfXML(c, path)
			case c.Bool("ignored"):
				return showIgnored(c)
			}
			return showList(c, propertyColumns, func(ctx context.Context) (f fetched[keyValue], err error) {
				var d api.Conf
				f.doc, err = c.get(ctx, path, nil, &d)
				for _, name := range sorted(d.Properties) {
					if strings.Contains(name, c.arg(0)) {
						f.things = append(f.things, keyValue{name, d.Properties[name]})
					}
				}
				f.head = fmt.Sprintf("version %d, %s, by %s", d.Version, output.Time(d.AtMillis), authorName(d.Author))
				if d.Comment != "" {
					f.head += ": " + d.Comment
				}
				return f, err
			})
		},
	}
}

// writeConfXML writes a version of the configuration as a capacity-scheduler.xml file.
func writeConfXML(c *call, path string) error {
	var d api.Conf
	if _, err := c.get(c.ctx(), path, nil, &d); err != nil {
		return err
	}
	var props []hadoopconf.Property
	for _, name := range sorted(d.Properties) {
		props = append(props, hadoopconf.Property{Name: name, Value: d.Properties[name]})
	}
	return hadoopconf.Write(c.p.Out, props)
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
		{Head: "WHY", Text: func(f api.Fault) string { return f.What }, Shrink: true},
	},
}

// showIgnored shows the keys that the cluster ignores in its own configuration.
func showIgnored(c *call) error {
	return showList(c, faultColumns, func(ctx context.Context) (f fetched[api.Fault], err error) {
		var d api.Conf
		if _, err = c.get(ctx, "/v1/conf", nil, &d); err != nil {
			return f, err
		}
		cl, err := c.client()
		if err != nil {
			return f, err
		}
		a, err := cl.Post(ctx, "/v1/conf:validate", api.PutConf{Properties: d.Properties})
		if err != nil {
			return f, err
		}
		var v api.Validation
		f.doc, err = a.Body, a.Decode(&v)
		if dir := c.confDir(); err == nil && dir != "" {
			if err = addIgnored(&v, dir); err == nil {
				f.doc, err = json.Marshal(v)
			}
		}
		f.things = v.Ignored
		return f, err
	})
}

// confDir returns the directory of this machine's Hadoop files, or "" if neither --conf-dir nor
// $HADOOP_CONF_DIR names it.
func (c *call) confDir() string {
	dir := c.String("conf-dir")
	if dir == "" && c.p.Env != nil {
		dir, _ = c.p.Env("HADOOP_CONF_DIR")
	}
	return dir
}

// addIgnored adds the ignored keys of Hadoop's files to those of the queue configuration.
func addIgnored(v *api.Validation, dir string) error {
	conf, err := readHadoop(dir)
	if err != nil {
		return err
	}
	for _, k := range hadoop.IgnoredKeys(conf, capacity.Relevant) {
		v.Ignored = append(v.Ignored, ignoredDoc(k))
	}
	return nil
}

func ignoredDoc(k hadoop.Ignored) api.Fault {
	return api.Fault{Name: k.Name, Value: k.Value, Origin: k.Origin, What: k.Why, Do: k.Do, Effect: k.Effect.String()}
}

var changeColumns = output.List[api.Change]{
	Name:  func(k api.Change) string { return k.Key },
	Empty: "nothing differs",
	Columns: []output.Column[api.Change]{
		{Head: "CHANGE", Text: func(k api.Change) string { return k.Kind }},
		{Head: "QUEUE", Text: func(k api.Change) string { return k.Queue }, Shrink: true},
		{Head: "KEY", Text: func(k api.Change) string { return k.Key }, Shrink: true},
		{Head: "OLD", Text: func(k api.Change) string { return k.Old }, Shrink: true},
		{Head: "NEW", Text: func(k api.Change) string { return k.New }, Shrink: true},
	},
}

func confDiff() verb {
	return verb{
		name: "diff", usage: "show what a file or a version would change", args: "FILE | DIR | VERSION [VERSION]", min: 1, max: 2,
		long: "With --whatif the planner applies the file's queues to a copy of the live state and " +
			"shows which queues would have more or less, and which applications would start " +
			"at once, wait, gain or lose. It changes nothing.",
		flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "whatif", Usage: "show which applications would gain, lose, wait or start at once"},
		}, listFlags(changeColumns)...),
		examples: []string{"rmd conf diff capacity-scheduler.xml", "rmd conf diff 3 5", "rmd conf diff --whatif capacity-scheduler.xml"},
		complete: []source{versionsOrFiles, versions},
		run: func(c *call) error {
			if c.Bool("whatif") {
				return showWhatIf(c)
			}
			if _, err := strconv.ParseUint(c.arg(0), 10, 63); err == nil || c.NArg() == 2 {
				to := c.arg(1)
				if to == "" {
					to = "current"
				}
				return showList(c, changeColumns, func(ctx context.Context) (f fetched[api.Change], err error) {
					var d api.ConfDiff
					f.doc, err = c.get(ctx, "/v1/conf/versions/"+url.PathEscape(c.arg(0))+"/diff/"+url.PathEscape(to), nil, &d)
					f.things = d.Changes
					return f, err
				})
			}
			return showList(c, changeColumns, func(ctx context.Context) (f fetched[api.Change], err error) {
				v, doc, err := c.judge(ctx, c.arg(0))
				f.doc, f.things = doc, v.Changes
				if err == nil && !v.Valid {
					err = invalidQueues(v)
				}
				return f, err
			})
		},
	}
}

// judge lets the cluster validate a file and compare it with the configuration in force.
func (c *call) judge(ctx context.Context, file string) (v api.Validation, doc []byte, err error) {
	props, err := readProperties(file)
	if err != nil {
		return v, nil, err
	}
	cl, err := c.client()
	if err != nil {
		return v, nil, err
	}
	a, err := cl.Post(ctx, "/v1/conf:validate", api.PutConf{Properties: asMap(props)})
	if err != nil {
		return v, nil, err
	}
	return v, a.Body, a.Decode(&v)
}

func invalidQueues(v api.Validation) error {
	e := clierr.New("INVALID_QUEUES", "correct them", "the configuration has %s", thousands.Count(len(v.Faults), "fault"))
	for _, f := range v.Faults {
		e.Details = append(e.Details, faultLine(f))
	}
	return e
}

func faultLine(f api.Fault) string {
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
		{Head: "VERSION", Text: func(v api.ConfVersion) string { return output.Number(v.Version) }, Key: func(v api.ConfVersion) float64 { return float64(v.Version) }, Right: true},
		{Head: "WHEN", Text: func(v api.ConfVersion) string { return output.Time(v.AtMillis) }, Key: func(v api.ConfVersion) float64 { return float64(v.AtMillis) }},
		{Head: "CHANGES", Text: func(v api.ConfVersion) string { return output.Number(v.Changes) }, Key: func(v api.ConfVersion) float64 { return float64(v.Changes) }, Right: true},
		{Head: "AUTHOR", Text: func(v api.ConfVersion) string { return v.Author }, Shrink: true},
		{Head: "COMMENT", Text: func(v api.ConfVersion) string { return v.Comment }, Shrink: true},
		{Head: "CURRENT", Wide: true, Text: func(v api.ConfVersion) string { return output.YesNo(v.Current) }},
	},
}

func confHistory() verb {
	return verb{name: "history", usage: "list the versions, the newest first", flags: append([]cli.Flag{&cli.IntFlag{Name: "limit", Usage: "maximum number of results", DefaultText: "all"}}, listFlags(versionColumns)...),
		examples: []string{"rmd conf history --limit 10"},
		run: func(c *call) error {
			return showList(c, versionColumns, func(ctx context.Context) (f fetched[api.ConfVersion], err error) {
				q := url.Values{}
				if n := c.Int("limit"); n > 0 {
					q.Set("limit", strconv.Itoa(n))
				}
				var d api.ConfVersions
				f.doc, err = c.get(ctx, "/v1/conf/versions", q, &d)
				f.things = d.Versions
				return f, err
			})
		}}
}

func confValidate() verb {
	return verb{
		name: "validate", usage: "check a configuration; without --online it contacts no cluster", args: "FILE | DIR", min: 1, max: 1,
		long: "Of Hadoop's files it also lists the keys that rmd does not honor, by their effect: harmless, " +
			"visible to users, or fatal. With a fatal key no replica starts. " +
			"Exit 9 if the configuration is not valid, or has a fatal key.",
		flags:    []cli.Flag{&cli.BoolFlag{Name: "online", Usage: "also check against the cluster's queues and applications"}},
		examples: []string{"rmd conf validate capacity-scheduler.xml", "rmd conf validate /etc/hadoop/conf --online"},
		complete: []source{files},
		run: func(c *call) error {
			var v api.Validation
			var doc []byte
			var err error
			if c.Bool("online") {
				v, doc, err = c.judge(c.ctx(), c.arg(0))
			} else if v, err = judgeHere(c.arg(0)); err == nil {
				doc, err = json.Marshal(v)
			}
			if err != nil {
				return err
			}
			if err := showText(c, func(context.Context) ([]byte, func(io.Writer) error, error) {
				return doc, func(w io.Writer) error { return writeValidation(w, c.arg(0), v) }, nil
			}); err != nil {
				return err
			}
			if !v.Valid {
				return quietExit(exitcode.CheckFailed)
			}
			return nil
		},
	}
}

func writeValidation(w io.Writer, file string, v api.Validation) error {
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
			fmt.Fprintf(w, "%-8s %s\n", cmp.Or(f.Effect, part.name), faultLine(f))
		}
	}
	return nil
}
